// Counts every event and, if asked to, keeps the latest ones in a fixed ring. One thread writes and
// reads: the engine's loop.
#ifndef FOLIO_TRACE_TRACE_H_
#define FOLIO_TRACE_TRACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/event.h"

namespace folio {

// What the events of one type add up to.
struct EventTotals {
  std::uint64_t count = 0;
  std::int64_t a = 0;
  std::int64_t b = 0;
};

class Trace {
 public:
  // `ring_capacity` events are kept, the oldest overwritten; 0 keeps none and only counts.
  explicit Trace(std::size_t ring_capacity = 0);

  // The time that the following events get.
  void SetTime(std::int64_t time_ns) { time_ns_ = time_ns; }
  void Emit(Event event);

  const EventTotals& totals(EventType type) const {
    return totals_[static_cast<std::size_t>(type)];
  }
  // Events kept, oldest first.
  std::vector<Event> Events() const;
  std::uint64_t emitted() const { return emitted_; }  // since the start, kept or not

 private:
  std::array<EventTotals, kEventTypes> totals_{};
  std::vector<Event> ring_;
  std::uint64_t emitted_ = 0;
  std::int64_t time_ns_ = 0;
};

// `trace` may be null: nobody watches.
inline void Emit(Trace* trace, const Event& event) {
  if (trace != nullptr) trace->Emit(event);
}

}  // namespace folio

#endif  // FOLIO_TRACE_TRACE_H_
