#include "server/prompt_archive.h"

#include <algorithm>
#include <utility>

namespace folio {
namespace {

std::size_t BytesOf(const ArchivedPrompt& prompt) {
  std::size_t bytes = sizeof(ArchivedPrompt) + prompt.id.size() + prompt.owner.size() +
                      prompt.model.size() + prompt.tokens.size() * sizeof(std::int32_t);
  bytes += prompt.tools_digest.size() + prompt.system_digest.size();
  for (const PromptPart& part : prompt.parts) bytes += sizeof(PromptPart) + part.label.size();
  return bytes;
}

}  // namespace

std::string_view BareId(std::string_view id) {
  for (const std::string_view prefix : {"chatcmpl-", "cmpl-", "resp_", "msg_", "req_", "warm_"}) {
    if (id.starts_with(prefix)) return id.substr(prefix.size());
  }
  return id;
}

std::shared_ptr<const ArchivedPrompt> PromptArchive::Add(ArchivedPrompt prompt) {
  const std::size_t bytes = BytesOf(prompt);
  prompt.tokens.shrink_to_fit();
  auto kept = std::make_shared<const ArchivedPrompt>(std::move(prompt));
  if (bytes > most_bytes_) return kept;
  const std::lock_guard lock(mutex_);
  while (bytes_ + bytes > most_bytes_) {
    bytes_ -= entries_.front().bytes;
    by_id_.erase(entries_.front().prompt->id);
    entries_.pop_front();
  }
  bytes_ += bytes;
  entries_.push_back({.prompt = kept, .bytes = bytes});
  by_id_[kept->id] = std::prev(entries_.end());
  return kept;
}

void PromptArchive::SetReport(const std::string& id, const MissReport& report) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) found->second->report = report;
}

std::optional<PromptArchive::Found> PromptArchive::Find(std::string_view owner,
                                                        std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(std::string(BareId(id)));
  if (found == by_id_.end() || found->second->prompt->owner != owner) return std::nullopt;
  return Found{.prompt = found->second->prompt, .report = found->second->report};
}

std::optional<PromptArchive::Found> PromptArchive::FindByEngine(std::string_view owner,
                                                                std::string_view model,
                                                                std::uint64_t engine_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.prompt->engine_id == engine_id && entry.prompt->owner == owner &&
           entry.prompt->model == model;
  });
  if (found == entries_.end()) return std::nullopt;
  return Found{.prompt = found->prompt, .report = found->report};
}

}  // namespace folio
