// The thread of a model host that loads and unloads.
#include <algorithm>
#include <chrono>
#include <utility>

#include "server/model_host.h"
#include "server/turn_probe.h"

namespace folio {
namespace {

// How soon it is noticed that those who waited have left.
constexpr std::chrono::milliseconds kPatience(100);

std::string InMiB(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// Trying again mends nothing.
ApiError CannotLoad(const std::string& id, const Error& error) {
  return {.kind = ApiError::Kind::kInvalidRequest,
          .message = "the model '" + id + "' can't be loaded: " + error.Message(),
          .param = "model"};
}

}  // namespace

std::uint64_t GrantOfMemory(std::uint64_t memory, std::uint64_t least, std::uint64_t all_least,
                            std::size_t models) {
  if (all_least <= memory) return least + (memory - all_least) / models;
  return std::min(memory, std::max(least, memory / models));
}

void ModelHost::Run() {
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !line_.empty(); });
    if (ending_) break;
    Entry& entry = *line_.front();
    Serve(entry, lock);
    line_.pop_front();
  }
  for (const auto& entry : entries_) {
    std::deque<Waiter> waiters = std::exchange(entry->waiters, {});
    lock.unlock();
    for (const Waiter& waiter : waiters) {
      if (waiter.wanted.expired()) continue;
      waiter.loaded(std::unexpected(
          ApiError{.kind = ApiError::Kind::kUnavailable, .message = "the server is ending"}));
    }
    lock.lock();
  }
}

// Nobody waits for it any more, nor will come again.
bool ModelHost::IsAbandoned(Entry& entry) {
  waiting_ -=
      std::erase_if(entry.waiters, [](const Waiter& waiter) { return waiter.wanted.expired(); });
  return entry.waiters.empty() && !entry.asked;
}

// Loads it and tells those who wait. They hold the model before anyone can want its room.
void ModelHost::Serve(Entry& entry, Lock& lock) {
  Status loaded;
  if (entry.model == nullptr && !IsAbandoned(entry)) {
    loaded = MakeRoom(entry, lock);
    if (loaded) loaded = Load(entry, lock);
  }
  for (const auto& any : entries_) any->leaving = false;
  if (!loaded) Say(entry.hosted.id + " can't be loaded: " + loaded.error().Message());
  entry.loaded = loaded;
  entry.wanted = false;
  entry.asked = false;
  std::vector<std::pair<Waiter, ModelUse>> told;
  for (Waiter& waiter : std::exchange(entry.waiters, {})) {
    --waiting_;
    told.emplace_back(std::move(waiter), entry.model ? Use(entry) : nullptr);
  }
  lock.unlock();
  for (auto& [waiter, use] : told) {
    if (waiter.wanted.expired()) continue;
    if (use != nullptr) {
      waiter.loaded(std::move(use));
    } else {
      waiter.loaded(std::unexpected(CannotLoad(entry.hosted.id, loaded.error())));
    }
  }
  told.clear();
  lock.lock();
}

std::uint64_t ModelHost::FreeBytes() const {
  std::uint64_t used = 0;
  for (const auto& entry : entries_) used += entry->bytes;
  return options_.memory - std::min(options_.memory, used);
}

std::uint64_t ModelHost::GrantOf(const Entry& entry) const {
  std::uint64_t all_least = 0;
  for (const auto& other : entries_) all_least += other->hosted.least_bytes;
  const std::uint64_t grant =
      GrantOfMemory(options_.memory, entry.hosted.least_bytes, all_least, entries_.size());
  return std::min(grant, FreeBytes());
}

// Unloads others, the longest unused first, until what the model needs is free. One that is used is
// waited for, and takes no more requests meanwhile.
Status ModelHost::MakeRoom(Entry& entry, Lock& lock) {
  while (FreeBytes() < entry.hosted.least_bytes) {
    Entry* oldest = nullptr;
    for (const auto& other : entries_) {
      if (other->model == nullptr) continue;
      const bool before = oldest == nullptr || std::pair(other->uses > 0, other->last_used) <
                                                   std::pair(oldest->uses > 0, oldest->last_used);
      if (before) oldest = other.get();
    }
    if (oldest == nullptr) {
      return RuntimeError("memory", "",
                          "it needs " + InMiB(entry.hosted.least_bytes) + ", all models may have " +
                              InMiB(options_.memory) + " (--memory)");
    }
    if (oldest->uses == 0) {
      Unload(*oldest, entry, lock);
      continue;
    }
    oldest->leaving = true;
    changed_.wait_for(lock, kPatience, [&] { return ending_ || oldest->uses == 0; });
    if (IsAbandoned(entry)) return RuntimeError("serve", "", "nobody waits for the model any more");
    if (ending_) return RuntimeError("serve", "", "the server is ending");
  }
  return {};
}

void ModelHost::Unload(Entry& entry, const Entry& instead, Lock& lock) {
  std::unique_ptr<ServedModel> model = std::move(entry.model);
  entry.leaving = false;
  lock.unlock();
  model.reset();
  Say("unloaded " + entry.hosted.id + ": " + instead.hosted.id + " needs its memory");
  lock.lock();
  entry.bytes = 0;
}

Status ModelHost::Load(Entry& entry, Lock& lock) {
  const std::uint64_t memory = entries_.size() == 1 ? options_.memory : GrantOf(entry);
  // Ids of requests have 54 bits.
  const std::uint64_t first_request = (loads_++ << 32) + 1;
  entry.bytes = memory;
  lock.unlock();
  auto engine = entry.hosted.open(memory, first_request);
  const Status opened = engine ? Status() : std::unexpected(engine.error());
  std::unique_ptr<ServedModel> model;
  if (opened) {
    model = std::make_unique<ServedModel>(entry.hosted.id, *std::move(engine));
    if (entries_.size() > 1) Say("loaded " + entry.hosted.id + ": " + InMiB(memory));
    for (const std::string& note : TurnNotes(*model)) Say(entry.hosted.id + ": " + note);
  }
  lock.lock();
  if (!opened) {
    entry.bytes = 0;
    return opened;
  }
  entry.model = std::move(model);
  ++entry.loads;
  return {};
}

void ModelHost::Say(const std::string& line) const {
  if (options_.log) options_.log(line);
}

}  // namespace folio
