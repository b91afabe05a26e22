#include <immintrin.h>

#include "kernels/activations.h"

namespace folio {
namespace {

// The largest magnitude of 32 values as bits: a NaN is above infinity.
unsigned LargestMagnitudeBits(__m512 first, __m512 second) {
  const __m512i mask = _mm512_set1_epi32(0x7fffffff);
  return _mm512_reduce_max_epu32(
      _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(first), mask),
                       _mm512_and_si512(_mm512_castps_si512(second), mask)));
}

void ConvertBlock(__m512 first, __m512 second, float limit, std::int16_t* values,
                  BlockFactors* factors) {
  const unsigned bits = LargestMagnitudeBits(first, second);
  const float largest = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
  const bool finite = bits < 0x7f800000U;
  if (!finite || largest < kSmallestBlock) {
    _mm512_storeu_si512(values, _mm512_setzero_si512());
    *factors = {finite ? 0.0F : __builtin_nanf(""), 0.0F, {0.0F, 0.0F}};
    return;
  }
  const __m512 inverse = _mm512_set1_ps(limit / largest);
  const __m512i low = _mm512_cvtps_epi32(_mm512_mul_ps(first, inverse));
  const __m512i high = _mm512_cvtps_epi32(_mm512_mul_ps(second, inverse));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), _mm512_cvtepi32_epi16(low));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + 16), _mm512_cvtepi32_epi16(high));
  const int low_sum = _mm512_reduce_add_epi32(low);
  const int high_sum = _mm512_reduce_add_epi32(high);
  *factors = {largest / limit,
              static_cast<float>(low_sum + high_sum),
              {static_cast<float>(low_sum), static_cast<float>(high_sum)}};
}

// The first `count` of 16 values, the rest zeros.
__m512 LoadFirst(const float* x, std::int64_t count) {
  if (count >= 16) return _mm512_loadu_ps(x);
  if (count <= 0) return _mm512_setzero_ps();
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), x);
}

}  // namespace

void ConvertTileAvx512(const float* x, std::int64_t k, float limit, ActivationTile tile) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const float* from = x + row * k;
    std::int64_t at = row;
    for (std::int64_t first = 0; first < k; first += 32, at += tile.rows) {
      ConvertBlock(LoadFirst(from + first, k - first), LoadFirst(from + first + 16, k - first - 16),
                   limit, tile.values + at * 32, tile.factors + at);
    }
  }
}

}  // namespace folio
