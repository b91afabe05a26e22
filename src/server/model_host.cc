#include "server/model_host.h"

#include <algorithm>
#include <future>
#include <utility>

namespace folio {
namespace {

ApiError Loading(const std::string& id) {
  return {.kind = ApiError::Kind::kUnavailable,
          .message = "the model '" + id + "' is being loaded: try again"};
}

}  // namespace

ModelHost::ModelHost(ModelHostOptions options, std::vector<HostedModel> models)
    : options_(std::move(options)) {
  for (HostedModel& model : models) {
    entries_.push_back(std::make_unique<Entry>());
    entries_.back()->hosted = std::move(model);
  }
  loader_ = std::thread([this] { Run(); });
}

void ModelHost::Stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (loader_.joinable()) loader_.join();
}

Result<ModelHost::ModelUse> ModelHost::LoadFirst() {
  auto answer = std::make_shared<std::promise<std::expected<ModelUse, ApiError>>>();
  WhenLoaded(entries_.front()->hosted.id, answer,
             [answer](auto model) { answer->set_value(std::move(model)); });
  auto model = answer->get_future().get();
  const std::lock_guard lock(mutex_);
  ready_ = model.has_value();
  if (!model) return std::unexpected(entries_.front()->loaded.error());
  return *std::move(model);
}

bool ModelHost::ready() const {
  const std::lock_guard lock(mutex_);
  return ready_;
}

// Null: none is meant.
ModelHost::Entry* ModelHost::Choose(std::string_view name) const {
  for (const auto& entry : entries_) {
    const HostedModel& hosted = entry->hosted;
    const bool alias = std::ranges::find(hosted.aliases, name) != hosted.aliases.end();
    if (hosted.id == name || alias) return entry.get();
  }
  return options_.strict ? nullptr : entries_.front().get();
}

// With the lock held.
ModelHost::ModelUse ModelHost::Use(Entry& entry) {
  ++entry.uses;
  entry.last_used = ++uses_;
  return {entry.model.get(), [this, &entry](ServedModel* /*used*/) { Release(entry); }};
}

void ModelHost::Release(Entry& entry) {
  {
    const std::lock_guard lock(mutex_);
    --entry.uses;
  }
  changed_.notify_all();
}

void ModelHost::Want(Entry& entry) {
  if (std::exchange(entry.wanted, true)) return;
  line_.push_back(&entry);
  changed_.notify_all();
}

std::expected<ModelHost::ModelUse, ApiError> ModelHost::Find(std::string_view name) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = Choose(name);
  if (entry == nullptr) {
    return std::unexpected(
        ApiError{.kind = ApiError::Kind::kNotFound,
                 .message = "the model '" + std::string(name) + "' is not served here",
                 .param = "model"});
  }
  if (entry->model != nullptr && !entry->leaving) return Use(*entry);
  entry->asked = true;
  Want(*entry);
  return std::unexpected(Loading(entry->hosted.id));
}

bool ModelHost::MustWait(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = Choose(name);
  return ready_ && entry != nullptr && (entry->model == nullptr || entry->leaving);
}

void ModelHost::WhenLoaded(std::string_view name, std::weak_ptr<void> wanted, Loaded loaded) {
  std::expected<ModelUse, ApiError> now;
  {
    const std::lock_guard lock(mutex_);
    Entry* const entry = Choose(name);
    if (entry == nullptr) {
      now = std::unexpected(
          ApiError{.kind = ApiError::Kind::kNotFound,
                   .message = "the model '" + std::string(name) + "' is not served here",
                   .param = "model"});
    } else if (entry->model != nullptr && !entry->leaving) {
      now = Use(*entry);
    } else if (waiting_ >= options_.max_waiting || ending_) {
      now = std::unexpected(
          ApiError{.kind = ApiError::Kind::kUnavailable,
                   .message = std::to_string(waiting_) + " requests wait for models to be loaded"});
    } else {
      ++waiting_;
      entry->waiters.push_back({.wanted = std::move(wanted), .loaded = std::move(loaded)});
      Want(*entry);
      return;
    }
  }
  loaded(std::move(now));
}

std::vector<ModelHost::ModelUse> ModelHost::AllLoaded() {
  const std::lock_guard lock(mutex_);
  std::vector<ModelUse> all;
  for (const auto& entry : entries_) {
    if (entry->model == nullptr || entry->leaving) continue;
    const std::uint64_t last_used = entry->last_used;
    all.push_back(Use(*entry));
    entry->last_used = last_used;  // to be looked at is not to be used
  }
  return all;
}

std::vector<ModelListing> ModelHost::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelListing> list;
  for (const auto& entry : entries_) {
    const HostedModel& hosted = entry->hosted;
    const bool loaded = entry->model != nullptr;
    list.push_back({.id = hosted.id,
                    .context = loaded ? entry->model->context() : hosted.context,
                    .trained_context = loaded ? entry->model->trained_context() : 0,
                    .known_since = hosted.known_since,
                    .loaded = loaded,
                    .loads = entry->loads});
  }
  return list;
}

}  // namespace folio
