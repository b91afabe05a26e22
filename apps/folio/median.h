#ifndef FOLIO_APPS_FOLIO_MEDIAN_H_
#define FOLIO_APPS_FOLIO_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace folio {

// The middle value, or the mean of the two in the middle. There must be one.
inline double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_MEDIAN_H_
