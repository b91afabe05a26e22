#include "model/positions/longrope.h"

#include <cmath>

#include "model/exact_math.h"

namespace folio {

double LongRopeAttentionFactor(double factor, std::int64_t original_context) {
  if (factor <= 1) return 1.0;
  return std::sqrt(1 + ExactLog(factor) / ExactLog(static_cast<double>(original_context)));
}

Rope MakeRope(const RopeShape& shape, const LongRopeScaling& scaling, std::int64_t length) {
  Rope rope{.frequencies = RopeFrequencies(shape), .attention_factor = scaling.attention_factor};
  const bool is_long = length > scaling.original_context;
  DivideByFactors(is_long ? scaling.long_factors : scaling.short_factors, rope.frequencies);
  return rope;
}

}  // namespace folio
