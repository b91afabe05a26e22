#include "folio/lab_moe_capacity.h"

#include <cmath>
#include <cstddef>

namespace folio {

std::int64_t ExpertCapacity(double factor, std::int64_t tokens, int experts) {
  // A factor such as 1.1 is a little more than it says, and 1.1 * 10 must not become 12.
  constexpr double kRounding = 1e-9;
  const double share = factor * static_cast<double>(tokens) / experts;
  return static_cast<std::int64_t>(std::ceil(share - kRounding));
}

std::vector<bool> WithinCapacity(std::span<const RoutedExpert> chosen, int experts,
                                 std::int64_t capacity) {
  std::vector<std::int64_t> taken(static_cast<std::size_t>(experts));
  std::vector<bool> within;
  for (const RoutedExpert& each : chosen)
    within.push_back(++taken[static_cast<std::size_t>(each.expert)] <= capacity);
  return within;
}

}  // namespace folio
