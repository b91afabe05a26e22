#include "model/positions/sinusoidal.h"

#include "model/exact_math.h"
#include "model/positions/rope.h"

namespace folio {

std::vector<double> SinusoidalPosition(std::int64_t position, std::int64_t dim) {
  std::vector<double> values;
  for (const double frequency : RopeFrequencies({.base = kSinusoidalBase, .rotary_dim = dim})) {
    const SinCos angle = ExactSinCos(static_cast<double>(position) * frequency);
    values.push_back(angle.sine);
    values.push_back(angle.cosine);
  }
  return values;
}

void AddSinusoidalPosition(std::int64_t position, std::span<float> x) {
  const std::vector<double> values =
      SinusoidalPosition(position, static_cast<std::int64_t>(x.size()));
  for (std::size_t i = 0; i < values.size(); ++i) x[i] += static_cast<float>(values[i]);
}

}  // namespace folio
