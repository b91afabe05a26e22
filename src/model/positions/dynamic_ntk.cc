#include "model/positions/dynamic_ntk.h"

#include <algorithm>

#include "model/exact_math.h"

namespace folio {

Rope MakeRope(const RopeShape& shape, const DynamicNtkScaling& scaling, std::int64_t length) {
  const auto trained = static_cast<double>(scaling.trained_length);
  const double stretched = std::max(static_cast<double>(length), trained) / trained;
  const double growth = scaling.factor * stretched - (scaling.factor - 1);
  const auto d = static_cast<double>(shape.rotary_dim);
  return {.frequencies = RopeFrequencies({.base = shape.base * ExactPow(growth, d / (d - 2)),
                                          .rotary_dim = shape.rotary_dim})};
}

}  // namespace folio
