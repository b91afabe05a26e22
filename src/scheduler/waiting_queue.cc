#include "scheduler/waiting_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace folio {
namespace {

constexpr std::size_t kMostOwners = 1024;

}  // namespace

// Where the least served of those who wait is.
std::int64_t WaitingQueue::Level() const {
  if (empty()) return last_level_;
  std::int64_t level = std::numeric_limits<std::int64_t>::max();
  for (const auto& [id, owner] : owners_) {
    if (!owner.waiting.empty()) level = std::min(level, owner.served);
  }
  return level;
}

void WaitingQueue::Insert(Sequence& sequence) {
  const std::int64_t level = Level();
  if (owners_.size() >= kMostOwners) ForgetIdle();
  Owner& owner = owners_[sequence.owner];
  if (owner.waiting.empty()) owner.served = std::max(owner.served, level);
  owner.waiting.insert(&sequence);
  ++size_;
}

void WaitingQueue::Erase(Sequence& sequence) {
  Owner& owner = owners_[sequence.owner];
  size_ -= owner.waiting.erase(&sequence);
  if (empty()) last_level_ = std::max(last_level_, owner.served);
}

// Those who would be lifted to the level anyway lose nothing.
void WaitingQueue::ForgetIdle() {
  const std::int64_t level = Level();
  std::erase_if(owners_, [level](const auto& entry) {
    return entry.second.waiting.empty() && entry.second.served <= level;
  });
}

Sequence* WaitingQueue::Next() const {
  const Owner* next = nullptr;
  for (const auto& [id, owner] : owners_) {
    if (owner.waiting.empty()) continue;
    if (next == nullptr || std::pair(owner.served, (*owner.waiting.begin())->rank()) <
                               std::pair(next->served, (*next->waiting.begin())->rank())) {
      next = &owner;
    }
  }
  return next == nullptr ? nullptr : *next->waiting.begin();
}

std::vector<const Sequence*> WaitingQueue::InOrder() const {
  WaitingQueue rest = *this;
  std::vector<const Sequence*> order;
  while (Sequence* const next = rest.Next()) {
    order.push_back(next);
    rest.Charge(next->owner, next->remaining());
    rest.Erase(*next);
  }
  return order;
}

}  // namespace folio
