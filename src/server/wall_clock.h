// The time of day, as APIs tell it.
#ifndef FOLIO_SERVER_WALL_CLOCK_H_
#define FOLIO_SERVER_WALL_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace folio {

inline std::int64_t SecondsSince1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace folio

#endif  // FOLIO_SERVER_WALL_CLOCK_H_
