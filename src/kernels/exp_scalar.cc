#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/exp.h"
#include "kernels/exp_constants.h"

namespace folio {

float Exp(float x) {
  if (x < kExpLowest) return 0.0F;
  if (x > kExpHighest) return std::numeric_limits<float>::infinity();
  const float shifted = std::fma(x, kExpLog2E, kExpRounder);
  const float n = shifted - kExpRounder;
  float r = std::fma(-n, kExpLn2High, x);
  r = std::fma(-n, kExpLn2Low, r);
  float p = std::fma(kExpC6, r, kExpC5);
  p = std::fma(p, r, kExpC4);
  p = std::fma(p, r, kExpC3);
  p = std::fma(p, r, kExpC2);
  p = std::fma(p, r, 1.0F);
  p = std::fma(p, r, 1.0F);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                              (std::bit_cast<std::uint32_t>(shifted) << 23));
}

}  // namespace folio
