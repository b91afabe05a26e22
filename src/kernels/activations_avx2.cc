#include <immintrin.h>

#include "kernels/activations.h"

namespace folio {
namespace {

__m256i Magnitude(__m256 x) {
  return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
}

// The largest magnitude of 32 values as bits: a NaN is above infinity.
unsigned LargestMagnitudeBits(const __m256* x) {
  const __m256i all = _mm256_max_epu32(_mm256_max_epu32(Magnitude(x[0]), Magnitude(x[1])),
                                       _mm256_max_epu32(Magnitude(x[2]), Magnitude(x[3])));
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
  return static_cast<unsigned>(_mm_cvtsi128_si32(four));
}

int Sum(__m256i a) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
  return _mm_cvtsi128_si32(four);
}

// 16 values rounded and stored as 16-bit integers; their sum.
int StoreHalf(const __m256* x, __m256 inverse, std::int16_t* values) {
  const __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(x[0], inverse));
  const __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(x[1], inverse));
  // Packing works within 128-bit lanes; the permutation restores the order.
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), packed);
  return Sum(_mm256_add_epi32(a, b));
}

void ConvertBlock(const float* x, float limit, std::int16_t* values, BlockFactors* factors) {
  const __m256 parts[4] = {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), _mm256_loadu_ps(x + 16),
                           _mm256_loadu_ps(x + 24)};
  const unsigned bits = LargestMagnitudeBits(parts);
  const float largest = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
  const bool finite = bits < 0x7f800000U;
  if (!finite || largest < kSmallestBlock) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), _mm256_setzero_si256());
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + 16), _mm256_setzero_si256());
    *factors = {finite ? 0.0F : __builtin_nanf(""), 0.0F, {0.0F, 0.0F}};
    return;
  }
  const __m256 inverse = _mm256_set1_ps(limit / largest);
  const int low_sum = StoreHalf(parts, inverse, values);
  const int high_sum = StoreHalf(parts + 2, inverse, values + 16);
  *factors = {largest / limit,
              static_cast<float>(low_sum + high_sum),
              {static_cast<float>(low_sum), static_cast<float>(high_sum)}};
}

}  // namespace

void ConvertTileAvx2(const float* x, std::int64_t k, float limit, ActivationTile tile) {
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    const float* from = x + row * k;
    std::int64_t at = row;
    for (std::int64_t first = 0; first < k; first += 32, at += tile.rows) {
      if (k - first >= 32) {
        ConvertBlock(from + first, limit, tile.values + at * 32, tile.factors + at);
      } else {
        float padded[32] = {};
        for (std::int64_t i = 0; first + i < k; ++i) padded[i] = from[first + i];
        ConvertBlock(padded, limit, tile.values + at * 32, tile.factors + at);
      }
    }
  }
}

}  // namespace folio
