// The vector operations that kernel templates (exp_simd.h, elementwise_simd.h, attention_simd.h)
// are written in, for AVX2; see simd_avx512.h.
#ifndef FOLIO_KERNELS_SIMD_AVX2_H_
#define FOLIO_KERNELS_SIMD_AVX2_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace folio {
namespace {

struct Avx2 {
  using Float = __m256;
  static constexpr int kLanes = 8;
  // Query rows of a register block, for 2 vectors of columns: 2 x 2 even and odd sums leave 8 of 16
  // registers for operands.
  static constexpr int kRows = 2;

  static Float Zero() { return _mm256_setzero_ps(); }
  static Float Set(float x) { return _mm256_set1_ps(x); }
  static Float Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, Float x) { _mm256_storeu_ps(p, x); }
  // The first n lanes; the others are zero, and untouched in memory.
  static Float LoadFirst(const float* p, std::int64_t n) { return _mm256_maskload_ps(p, First(n)); }
  static void StoreFirst(float* p, std::int64_t n, Float x) { _mm256_maskstore_ps(p, First(n), x); }
  static float Lane0(Float x) { return _mm256_cvtss_f32(x); }

  static Float Add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float Sub(Float a, Float b) { return _mm256_sub_ps(a, b); }
  static Float Mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float Div(Float a, Float b) { return _mm256_div_ps(a, b); }
  static Float Sqrt(Float a) { return _mm256_sqrt_ps(a); }
  // b where a comparison fails: no number stays none.
  static Float Min(Float a, Float b) { return _mm256_min_ps(a, b); }
  static Float Max(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Float Fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }      // ab + c
  static Float FmaSub(Float a, Float b, Float c) { return _mm256_fmsub_ps(a, b, c); }   // ab - c
  static Float NegFma(Float a, Float b, Float c) { return _mm256_fnmadd_ps(a, b, c); }  // c - ab
  static Float Negate(Float a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0F)); }

  // x * 2^n, n being the low bits of `shifted` (and shifted - 1.5*2^23 = n): a normal number.
  static Float TimesPowerOf2(Float x, Float shifted) {
    return _mm256_castsi256_ps(_mm256_add_epi32(
        _mm256_castps_si256(x), _mm256_slli_epi32(_mm256_castps_si256(shifted), 23)));
  }
  // `value`, but zero where x < bound; `value`, but `other` where x > bound.
  static Float ZeroIfLess(Float x, float bound, Float value) {
    return _mm256_and_ps(_mm256_cmp_ps(x, Set(bound), _CMP_NLT_UQ), value);
  }
  static Float IfGreater(Float x, float bound, Float other, Float value) {
    return _mm256_blendv_ps(value, other, _mm256_cmp_ps(x, Set(bound), _CMP_GT_OQ));
  }
  // x in lanes [begin, end), `other` elsewhere.
  static Float KeepRange(Float x, std::int64_t begin, std::int64_t end, Float other) {
    const __m256i keep = _mm256_andnot_si256(First(begin), First(end));
    return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(keep));
  }

  // 16-bit halves of 32-bit words as the bf16 numbers they are.
  static Float LoadWords(const std::byte* p) {
    return _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Float LowBf16(Float words) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(words), 16));
  }
  static Float HighBf16(Float words) {
    return _mm256_and_ps(words, _mm256_castsi256_ps(_mm256_set1_epi32(-65536)));
  }
  // Rounded to bf16, to nearest even; x is not NaN.
  static Float RoundToBf16(Float x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    return _mm256_castsi256_ps(_mm256_and_si256(rounded, _mm256_set1_epi32(-65536)));
  }
  // Any x: denormals become zeros of their sign, NaN stays a quiet NaN.
  static Float RoundAnyToBf16(Float x) {
    const __m256i bits = _mm256_castps_si256(x);
    const Float denormal = _mm256_and_ps(x, _mm256_set1_ps(-0.0F));
    const __m256i nan = _mm256_and_si256(_mm256_or_si256(bits, _mm256_set1_epi32(0x400000)),
                                         _mm256_set1_epi32(-65536));
    const __m256i exponent = _mm256_and_si256(bits, _mm256_set1_epi32(0x7f800000));
    const __m256i is_denormal = _mm256_cmpeq_epi32(exponent, _mm256_setzero_si256());
    const Float rounded =
        _mm256_blendv_ps(RoundToBf16(x), denormal, _mm256_castsi256_ps(is_denormal));
    return _mm256_blendv_ps(rounded, _mm256_castsi256_ps(nan), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  }
  static Float SetHalf(const std::byte* p) {
    std::uint16_t half;
    __builtin_memcpy(&half, p, sizeof(half));
    return _mm256_set1_ps(_cvtsh_ss(half));
  }
  static Float LoadHalf(const std::byte* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Float LoadInt8(const std::byte* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }

  // Lanes (0, 1), (2, 3), ... of the 16 floats at p as two vectors of 8, and back.
  static void LoadPairs(const float* p, Float* even, Float* odd) {
    const Float a = _mm256_permute2f128_ps(Load(p), Load(p + 8), 0x20);
    const Float b = _mm256_permute2f128_ps(Load(p), Load(p + 8), 0x31);
    *even = _mm256_shuffle_ps(a, b, 0x88);
    *odd = _mm256_shuffle_ps(a, b, 0xdd);
  }
  static void StorePairs(float* p, Float even, Float odd) {
    const Float low = _mm256_unpacklo_ps(even, odd);
    const Float high = _mm256_unpackhi_ps(even, odd);
    Store(p, _mm256_permute2f128_ps(low, high, 0x20));
    Store(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
  }

  // Lane r of the result = x[r]'s 8 lanes combined in the tree +4, +2, +1.
  template <Float (*Combine)(Float, Float)>
  static Float ReduceRows(const Float* x) {
    Float quads[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      quads[j] = Combine(_mm256_permute2f128_ps(x[j], x[j + 4], 0x20),
                         _mm256_permute2f128_ps(x[j], x[j + 4], 0x31));
    }
    const Float w0 = By2<Combine>(quads[0], quads[1]);
    const Float w1 = By2<Combine>(quads[2], quads[3]);
    return Combine(_mm256_shuffle_ps(w0, w1, 0x88), _mm256_shuffle_ps(w0, w1, 0xdd));
  }
  // A row of 32 as one vector, the tree's first two steps (+16, +8).
  template <Float (*Combine)(Float, Float)>
  static Float Fold32(const Float* x) {
    return Combine(Combine(x[0], x[2]), Combine(x[1], x[3]));
  }
  // The sum over 16 accumulator lanes, in the tree +8, +4, +2, +1.
  static float SumLanes16(const Float* x) {
    const __m256 by8 = Add(x[0], x[1]);
    const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
    const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
    return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
  }

 private:
  static __m256i First(std::int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  template <Float (*Combine)(Float, Float)>
  static Float By2(Float a, Float b) {
    return Combine(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee));
  }
};

}  // namespace
}  // namespace folio

#endif  // FOLIO_KERNELS_SIMD_AVX2_H_
