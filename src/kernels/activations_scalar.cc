// The definition of activation rounding, one block at a time.
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/activations.h"

namespace folio {
namespace {

// Round to nearest, ties to even, for |value| < 2^22: adding 1.5 * 2^23 leaves the integer in the
// low bits.
std::int32_t RoundToNearestEven(float value) {
  return std::bit_cast<std::int32_t>(value + 12582912.0F) - 0x4b400000;
}

// The largest magnitude, compared as bits: a NaN is above infinity, and the order of the elements
// does not matter.
std::uint32_t LargestMagnitudeBits(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffU;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

void ConvertBlock(const float* x, std::int64_t count, float limit, std::int16_t* values,
                  BlockFactors* factors) {
  std::memset(values, 0, 32 * sizeof(std::int16_t));
  *factors = BlockFactors{};
  const std::uint32_t bits = LargestMagnitudeBits(x, count);
  if (bits >= 0x7f800000U) {
    factors->scale = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  const float largest = std::bit_cast<float>(bits);
  if (largest < kSmallestBlock) return;
  factors->scale = largest / limit;
  const float inverse = limit / largest;
  std::int32_t sums[2] = {0, 0};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t value = RoundToNearestEven(x[i] * inverse);
    values[i] = static_cast<std::int16_t>(value);
    sums[i / 16] += value;
  }
  factors->half_sum[0] = static_cast<float>(sums[0]);
  factors->half_sum[1] = static_cast<float>(sums[1]);
  factors->sum = static_cast<float>(sums[0] + sums[1]);
}

}  // namespace

void ConvertTileScalar(const float* x, std::int64_t k, float limit, ActivationTile tile) {
  const std::int64_t blocks = (k + 31) / 32;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = block * 32;
      const std::int64_t count = k - first < 32 ? k - first : 32;
      const std::int64_t at = block * tile.rows + row;
      ConvertBlock(x + row * k + first, count, limit, tile.values + at * 32, tile.factors + at);
    }
  }
}

}  // namespace folio
