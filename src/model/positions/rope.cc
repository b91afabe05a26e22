#include "model/positions/rope.h"

#include <algorithm>
#include <numbers>

#include "model/exact_math.h"

namespace folio {

std::vector<double> RopeFrequencies(const RopeShape& shape) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < shape.rotary_dim / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(shape.rotary_dim);
    frequencies.push_back(ExactPow(shape.base, exponent));
  }
  return frequencies;
}

void DivideByFactors(std::span<const float> factors, std::vector<double>& frequencies) {
  const std::size_t count = std::min(factors.size(), frequencies.size());
  for (std::size_t i = 0; i < count; ++i) frequencies[i] /= static_cast<double>(factors[i]);
}

double Wavelength(double frequency) { return 2 * std::numbers::pi / frequency; }

}  // namespace folio
