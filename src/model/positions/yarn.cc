#include "model/positions/yarn.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/exact_math.h"

namespace folio {
namespace {

// The ramp has at least this width, as in the authors' code.
constexpr double kLeastWidth = 0.001;

// The index, not a whole number, of the pair that makes so many rotations within the context.
double PairOfRotations(double rotations, const RopeShape& shape, double context) {
  return static_cast<double>(shape.rotary_dim) *
         ExactLog(context / (rotations * 2 * std::numbers::pi)) / (2 * ExactLog(shape.base));
}

double Mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * ExactLog(factor) + 1.0;
}

}  // namespace

double YarnAttentionFactor(double factor, double mscale, double mscale_all_dim) {
  const double below = mscale_all_dim > 0 ? Mscale(factor, mscale_all_dim) : 1.0;
  return Mscale(factor, mscale) / below;
}

Rope MakeRope(const RopeShape& shape, const YarnScaling& scaling) {
  Rope rope{.frequencies = RopeFrequencies(shape), .attention_factor = scaling.attention_factor};
  const double context = scaling.original_context;
  double low = PairOfRotations(scaling.beta_fast, shape, context);
  double high = PairOfRotations(scaling.beta_slow, shape, context);
  if (scaling.whole_pairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(shape.rotary_dim - 1));
  const double width = std::max(high - low, kLeastWidth);
  for (std::size_t i = 0; i < rope.frequencies.size(); ++i) {
    const double slow = std::clamp((static_cast<double>(i) - low) / width, 0.0, 1.0);
    const double omega = rope.frequencies[i];
    rope.frequencies[i] = slow * (omega / scaling.factor) + (1 - slow) * omega;
  }
  return rope;
}

}  // namespace folio
