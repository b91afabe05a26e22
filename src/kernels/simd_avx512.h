// The vector operations that kernel templates (exp_simd.h, elementwise_simd.h, attention_simd.h)
// are written in, for AVX-512. In an anonymous namespace: each ISA file has its own copy, and
// templates over it stay in that file's object, so no AVX-512 code can be linked into another path.
#ifndef FOLIO_KERNELS_SIMD_AVX512_H_
#define FOLIO_KERNELS_SIMD_AVX512_H_

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace folio {
namespace {

struct Avx512 {
  using Float = __m512;
  static constexpr int kLanes = 16;
  // Query rows of a register block, for 2 vectors of columns: 4 x 2 even and odd sums, and as many
  // running totals, leave 8 of 32 registers for operands.
  static constexpr int kRows = 4;

  static Float Zero() { return _mm512_setzero_ps(); }
  static Float Set(float x) { return _mm512_set1_ps(x); }
  static Float Load(const float* p) { return _mm512_loadu_ps(p); }
  static void Store(float* p, Float x) { _mm512_storeu_ps(p, x); }
  static __mmask16 First(std::int64_t n) {
    return static_cast<__mmask16>(n >= kLanes ? 0xffff : (1 << n) - 1);
  }
  // The first n lanes; the others are zero, and untouched in memory.
  static Float LoadFirst(const float* p, std::int64_t n) {
    return _mm512_maskz_loadu_ps(First(n), p);
  }
  static void StoreFirst(float* p, std::int64_t n, Float x) {
    _mm512_mask_storeu_ps(p, First(n), x);
  }
  static float Lane0(Float x) { return _mm512_cvtss_f32(x); }

  static Float Add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float Sub(Float a, Float b) { return _mm512_sub_ps(a, b); }
  static Float Mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float Div(Float a, Float b) { return _mm512_div_ps(a, b); }
  static Float Sqrt(Float a) { return _mm512_sqrt_ps(a); }
  // b where a comparison fails: no number stays none.
  static Float Min(Float a, Float b) { return _mm512_min_ps(a, b); }
  static Float Max(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float Fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }      // ab + c
  static Float FmaSub(Float a, Float b, Float c) { return _mm512_fmsub_ps(a, b, c); }   // ab - c
  static Float NegFma(Float a, Float b, Float c) { return _mm512_fnmadd_ps(a, b, c); }  // c - ab
  static Float Negate(Float a) {
    return _mm512_castsi512_ps(
        _mm512_xor_si512(_mm512_castps_si512(a), _mm512_set1_epi32(INT32_MIN)));
  }

  // x * 2^n, n being the low bits of `shifted` (and shifted - 1.5*2^23 = n): a normal number.
  static Float TimesPowerOf2(Float x, Float shifted) {
    return _mm512_castsi512_ps(_mm512_add_epi32(
        _mm512_castps_si512(x), _mm512_slli_epi32(_mm512_castps_si512(shifted), 23)));
  }
  // `value`, but zero where x < bound; `value`, but `other` where x > bound.
  static Float ZeroIfLess(Float x, float bound, Float value) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, Set(bound), _CMP_NLT_UQ), value);
  }
  static Float IfGreater(Float x, float bound, Float other, Float value) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, Set(bound), _CMP_GT_OQ), value, other);
  }
  // x in lanes [begin, end), `other` elsewhere.
  static Float KeepRange(Float x, std::int64_t begin, std::int64_t end, Float other) {
    const unsigned below_end = end <= 0 ? 0 : First(end);
    const unsigned below_begin = begin <= 0 ? 0 : First(begin);
    return _mm512_mask_blend_ps(static_cast<__mmask16>(below_end & ~below_begin), other, x);
  }

  // 16-bit halves of 32-bit words as the bf16 numbers they are.
  static Float LoadWords(const std::byte* p) { return _mm512_loadu_ps(p); }
  static Float LowBf16(Float words) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(words), 16));
  }
  static Float HighBf16(Float words) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(words), _mm512_set1_epi32(-65536)));
  }
  // Rounded to bf16, to nearest even; x is not NaN.
  static Float RoundToBf16(Float x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded =
        _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    return _mm512_castsi512_ps(_mm512_and_si512(rounded, _mm512_set1_epi32(-65536)));
  }
  // Any x: denormals become zeros of their sign, NaN stays a quiet NaN.
  static Float RoundAnyToBf16(Float x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i denormal = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MIN));
    const __m512i nan = _mm512_and_si512(_mm512_or_si512(bits, _mm512_set1_epi32(0x400000)),
                                         _mm512_set1_epi32(-65536));
    __m512i rounded = _mm512_castps_si512(RoundToBf16(x));
    rounded = _mm512_mask_mov_epi32(
        rounded, _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0x7f800000)), denormal);
    rounded = _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
    return _mm512_castsi512_ps(rounded);
  }
  static Float SetHalf(const std::byte* p) {
    std::uint16_t half;
    __builtin_memcpy(&half, p, sizeof(half));
    return _mm512_set1_ps(_cvtsh_ss(half));
  }
  static Float LoadHalf(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Float LoadInt8(const std::byte* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }

  // Lanes (0, 1), (2, 3), ... of the 32 floats at p as two vectors of 16, and back.
  static void LoadPairs(const float* p, Float* even, Float* odd) {
    const Float a = Load(p);
    const Float b = Load(p + 16);
    *even = _mm512_permutex2var_ps(a, EvenIndices(), b);
    *odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(EvenIndices(), _mm512_set1_epi32(1)), b);
  }
  static void StorePairs(float* p, Float even, Float odd) {
    const Float low = _mm512_unpacklo_ps(even, odd);
    const Float high = _mm512_unpackhi_ps(even, odd);
    Store(p, _mm512_permutex2var_ps(low, Interleave(0), high));
    Store(p + 16, _mm512_permutex2var_ps(low, Interleave(8), high));
  }

  // Lane r of the result = x[r]'s 16 lanes combined in the tree +8, +4, +2, +1.
  template <Float (*Combine)(Float, Float)>
  static Float ReduceRows(const Float* x) {
    Float quads[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const Float ab = By8<Combine>(x[j], x[j + 4]);
      const Float cd = By8<Combine>(x[j + 8], x[j + 12]);
      quads[j] = Combine(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    }
    const Float w0 = By2<Combine>(quads[0], quads[1]);
    const Float w1 = By2<Combine>(quads[2], quads[3]);
    return Combine(_mm512_shuffle_ps(w0, w1, 0x88), _mm512_shuffle_ps(w0, w1, 0xdd));
  }
  // A row of 32 as one vector, the tree's first step (+16).
  template <Float (*Combine)(Float, Float)>
  static Float Fold32(const Float* x) {
    return Combine(x[0], x[1]);
  }
  // The sum over 16 accumulator lanes, in the tree +8, +4, +2, +1.
  static float SumLanes16(const Float* x) {
    const __m256 by8 = _mm256_add_ps(_mm512_castps512_ps256(x[0]), _mm512_extractf32x8_ps(x[0], 1));
    const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
    const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
    return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
  }

 private:
  static __m512i EvenIndices() {
    return _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  }
  // Undoes the in-lane order of unpacklo and unpackhi, from 128-bit lane start / 4 on.
  static __m512i Interleave(int start) {
    return _mm512_add_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
        _mm512_set1_epi32(start));
  }
  template <Float (*Combine)(Float, Float)>
  static Float By8(Float a, Float b) {
    return Combine(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
  }
  template <Float (*Combine)(Float, Float)>
  static Float By2(Float a, Float b) {
    return Combine(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
  }
};

}  // namespace
}  // namespace folio

#endif  // FOLIO_KERNELS_SIMD_AVX512_H_
