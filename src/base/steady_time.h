// Nanoseconds of the steady clock, as requests and events are stamped.
#ifndef FOLIO_BASE_STEADY_TIME_H_
#define FOLIO_BASE_STEADY_TIME_H_

#include <chrono>
#include <cstdint>

namespace folio {

inline std::int64_t SteadyNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace folio

#endif  // FOLIO_BASE_STEADY_TIME_H_
