#include "trace/trace.h"

#include <algorithm>

namespace folio {

std::string_view EventTypeName(EventType type) {
  static constexpr std::array<std::string_view, kEventTypes> kNames = {
      "scheduled", "chunk",    "block_allocated", "hit",      "shared_in_flight",
      "published", "freed",    "evicted",         "copied",   "preempted",
      "resumed",   "prompted", "drafted",         "finished", "missed"};
  return kNames[static_cast<std::size_t>(type)];
}

Trace::Trace(std::size_t ring_capacity) : ring_(ring_capacity) {}

void Trace::Emit(Event event) {
  event.time_ns = time_ns_;
  EventTotals& totals = totals_[static_cast<std::size_t>(event.type)];
  ++totals.count;
  totals.a += event.a;
  totals.b += event.b;
  if (!ring_.empty()) ring_[emitted_ % ring_.size()] = event;
  ++emitted_;
}

std::vector<Event> Trace::Events() const {
  std::vector<Event> events;
  const std::uint64_t kept = std::min<std::uint64_t>(emitted_, ring_.size());
  events.reserve(kept);
  for (std::uint64_t i = emitted_ - kept; i < emitted_; ++i) {
    events.push_back(ring_[i % ring_.size()]);
  }
  return events;
}

}  // namespace folio
