#include "kvcache/prompt_log.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace folio {
namespace {

constexpr std::size_t kLongestLabel = 128;
// What containers and the allocator add to an entry, generously.
constexpr std::size_t kEntryBytes = 96;
constexpr std::size_t kRootBytes = sizeof(PromptTree) + sizeof(BlockHash) + kEntryBytes;

std::size_t LabelBytes(std::string_view label) {
  return sizeof(PromptLabels::value_type) + kEntryBytes + label.size();
}

std::string_view Shortened(std::string_view label) { return label.substr(0, kLongestLabel); }

// The part that position `at` is in, or parts.end() if it is in none.
template <typename Parts>
auto PartAt(const Parts& parts, std::int64_t at) {
  const auto after = std::upper_bound(
      parts.begin(), parts.end(), at,
      [](std::int64_t position, const auto& part) { return position < part.first_token; });
  return after == parts.begin() ? parts.end() : after - 1;
}

// The token of `record` at the position behind `node`, which it goes through or ends with; -1 if it
// ends there.
std::int32_t TokenBehind(const PromptNode* node, const PromptRecord& record) {
  const PromptNode* below = record.last;
  if (below == node) return -1;
  while (below->parent != node) below = below->parent;
  return below->tokens.front();
}

}  // namespace

std::string_view MissCauseName(MissCause cause) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "full_hit",      "first_seen", "differs",   "goes_on", "evicted",
      "other_content", "block_end",  "forgotten", "off"};
  return kNames[static_cast<std::size_t>(cause)];
}

PromptLog::PromptLog(std::size_t max_bytes, int block_size)
    : max_bytes_(max_bytes), block_size_(static_cast<std::size_t>(block_size)) {}

MissReport PromptLog::Explain(const BlockHash& root, std::span<const std::int32_t> tokens,
                              std::span<const BlockHash> hashes, std::span<const PromptPart> parts,
                              std::int64_t cached_tokens) const {
  const auto size = static_cast<std::int64_t>(tokens.size());
  const auto block_size = static_cast<std::int64_t>(block_size_);
  MissReport report{.prompt_tokens = size, .cached_tokens = cached_tokens};

  const PromptRecord* nearest = nullptr;
  PromptTree::Match match;
  const auto found = roots_.find(root);
  if (found != roots_.end()) match = found->second.tree.Find(tokens);
  if (match.length > 0) {
    nearest = match.node->newest;
    report.nearest_request = nearest->request;
    report.matched_tokens = static_cast<std::int64_t>(match.length);
  }
  const std::int64_t matched = report.matched_tokens;
  if (cached_tokens >= size - 1) {
    report.cause = MissCause::kFullHit;
    return report;
  }

  // What the nearest prompt has behind the match.
  std::int32_t next = -1;
  if (nearest != nullptr) {
    const std::size_t in_node = match.length - match.node->begin;
    next = in_node < match.node->tokens.size() ? match.node->tokens[in_node]
                                               : TokenBehind(match.node, *nearest);
  }
  const std::int64_t block = cached_tokens / block_size;
  const std::int64_t block_end = (block + 1) * block_size;
  if (matched >= block_end) {
    report.position = cached_tokens;
    report.cause = MissCause::kEvicted;
    const std::uint64_t there =
        found->second.tree.FingerprintAt(match.node, static_cast<std::size_t>(block_end));
    const auto index = static_cast<std::size_t>(block);
    if (there != 0 && index < hashes.size() && Fingerprint(hashes[index]) != there) {
      report.cause = MissCause::kOtherContent;
    }
  } else if (nearest == nullptr) {
    report.position = cached_tokens;
    report.cause = cached_tokens > 0 ? MissCause::kForgotten : MissCause::kFirstSeen;
  } else if (matched == size) {
    report.position = cached_tokens;
    report.cause = MissCause::kBlockEnd;
  } else if (next < 0) {
    report.position = std::max(matched, cached_tokens);
    report.cause = nearest->cut ? MissCause::kForgotten : MissCause::kGoesOn;
  } else {
    report.position = std::max(matched, cached_tokens);
    report.cause = matched < cached_tokens ? MissCause::kForgotten : MissCause::kDiffers;
  }

  report.token_here = tokens[static_cast<std::size_t>(report.position)];
  if (const auto part = PartAt(parts, report.position); part != parts.end()) {
    report.part_here = part->label;
    report.offset_in_part = report.position - part->first_token;
  }
  // Behind a match that ended before the hits did, nothing was compared.
  if (nearest != nullptr && report.position <= matched && report.position < nearest->size()) {
    report.token_there = report.position < matched ? report.token_here : next;
    const auto part = PartAt(nearest->parts, report.position);
    if (part != nearest->parts.end()) report.part_there = part->label->first;
  }
  return report;
}

template <typename Change>
void PromptLog::Count(PromptTree& tree, const Change& change) {
  bytes_ -= tree.bytes();
  change();
  bytes_ += tree.bytes();
}

std::size_t PromptLog::RecordBytes(std::span<const PromptPart> parts) const {
  return sizeof(PromptRecord) + kEntryBytes + parts.size() * sizeof(PromptRecord::Part);
}

PromptRecord PromptLog::MakeRecord(std::uint64_t request, std::span<const PromptPart> parts) {
  PromptRecord record{.request = request};
  record.parts.reserve(parts.size());
  for (const PromptPart& part : parts) {
    const std::string_view text = Shortened(part.label);
    auto label = labels_.find(text);
    if (label == labels_.end()) {
      label = labels_.emplace(text, 0).first;
      bytes_ += LabelBytes(text);
    }
    ++label->second;
    record.parts.push_back({label, part.first_token});
  }
  bytes_ += RecordBytes(parts);
  return record;
}

void PromptLog::Record(std::uint64_t request, const BlockHash& root,
                       std::span<const std::int32_t> tokens, std::span<const BlockHash> hashes,
                       std::span<const PromptPart> parts) {
  if (tokens.empty()) return;
  const std::size_t most = max_bytes_ / 4;
  // Half of what a prompt may take is for its parts and the least nodes.
  const std::size_t base = RecordBytes({}) + kRootBytes + PromptTree::BytesFor(1, block_size_);
  std::size_t fixed = base;
  std::size_t kept_parts = 0;
  for (const PromptPart& part : parts) {
    const std::size_t bytes = sizeof(PromptRecord::Part) + LabelBytes(Shortened(part.label));
    if (fixed + bytes > most / 2) break;
    fixed += bytes;
    ++kept_parts;
  }
  if (fixed > most) return;
  parts = parts.first(kept_parts);
  while (bytes_ + fixed > max_bytes_) ForgetOldest();

  const auto [place, is_new] = roots_.try_emplace(root, block_size_);
  if (is_new) bytes_ += kRootBytes;
  PromptTree& tree = place->second.tree;
  // First only what is known already: from then on it stays, whatever is forgotten to make room.
  records_.push_back(MakeRecord(request, parts));
  PromptRecord& record = records_.back();
  record.root = root;
  ++place->second.records;
  const PromptTree::Match match = tree.Find(tokens);
  Count(tree, [&] { record.last = tree.Add(match, {tokens, hashes}, &record); });

  const std::size_t rest = tokens.size() - match.length;
  if (rest == 0) return;
  const auto bytes_for = [&](std::size_t count) {
    return PromptTree::BytesFor(count, block_size_);
  };
  const auto fitting = [&](std::size_t bytes) {  // tokens
    const std::size_t per_block = bytes_for(block_size_) - bytes_for(0);
    const std::size_t blocks = bytes <= bytes_for(0) ? 0 : (bytes - bytes_for(0)) / per_block;
    return std::min(rest, blocks * block_size_);
  };
  std::size_t added = bytes_for(rest) <= most - fixed ? rest : fitting(most - fixed);
  while (records_.size() > 1 && bytes_ + bytes_for(added) > max_bytes_) ForgetOldest();
  if (bytes_ + bytes_for(added) > max_bytes_) added = fitting(max_bytes_ - bytes_);
  record.cut = added < rest;
  if (added > 0) {
    const PromptTokens kept = {tokens.first(match.length + added), hashes};
    Count(tree, [&] { record.last = tree.Extend(record.last, kept, &record); });
  } else if (match.length == 0) {
    Forget(std::prev(records_.end()));
  }
}

void PromptLog::Forget(std::list<PromptRecord>::iterator record) {
  const auto root = roots_.find(record->root);
  PromptTree& tree = root->second.tree;
  Count(tree, [&] { tree.Remove(record->last); });
  if (--root->second.records == 0) {
    roots_.erase(root);
    bytes_ -= kRootBytes;
  }
  for (const PromptRecord::Part& part : record->parts) {
    if (--part.label->second > 0) continue;
    bytes_ -= LabelBytes(part.label->first);
    labels_.erase(part.label);
  }
  bytes_ -= RecordBytes({}) + record->parts.size() * sizeof(PromptRecord::Part);
  records_.erase(record);
}

}  // namespace folio
