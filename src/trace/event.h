// What happens to requests and blocks, as plain structs: the one source of traces, metrics and the
// inspector.
#ifndef FOLIO_TRACE_EVENT_H_
#define FOLIO_TRACE_EVENT_H_

#include <cstdint>
#include <string_view>

namespace folio {

// `a` and `b` of each are named beside it.
enum class EventType : std::uint8_t {
  kScheduled,       // a request began to run; a = prompt tokens, b = tokens found in the cache
  kChunk,           // rows of a request were computed; a = first position, b = rows
  kBlockAllocated,  // a block was handed out
  kHit,             // a cached block was taken; a = its index in the sequence
  kSharedInFlight,  // a request waits for a block that another computes; a = first position,
                    // b = the other request
  kPublished,       // a full block became hittable; a = its index in the sequence
  kFreed,           // the last reference to a block went away; a = 1 if it stays hittable
  kEvicted,         // a hittable block lost its hash; a = 0 as it was handed out again, 1 as the
                    // cache was dropped
  kCopied,          // a shared block was copied before a write; a = the source block
  kPreempted,       // a request gave up its blocks; a = tokens it had computed
  kResumed,         // a preempted request runs again; a = tokens it has, b = tokens still cached
  kPrompted,        // a prompt is computed; a = prompt tokens, b = tokens of it found in the cache
  kDrafted,         // a draft was verified; a = tokens proposed, b = tokens accepted
  kFinished,        // a = tokens generated, b = FinishReason
  kMissed,          // the prompt's longest match ended; a = tokens matched, b = prompt tokens
};
inline constexpr int kEventTypes = 15;

std::string_view EventTypeName(EventType type);  // "scheduled", "shared_in_flight"

struct Event {
  std::int64_t time_ns = 0;  // steady clock; read once a step
  std::uint64_t request = 0;
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int32_t block = -1;
  std::int16_t group = 0;  // KV group of the block
  EventType type = EventType::kScheduled;
};

}  // namespace folio

#endif  // FOLIO_TRACE_EVENT_H_
