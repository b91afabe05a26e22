// Products on AVX-512 with VNNI: 16 output rows in a register, vpdpwssd for the dot products.
//
// 16-bit activations meet 16-bit weights rather than two byte planes meeting bytes (vpdpbusd): the
// number of multiplications is the same, and nothing is left to shift and add per block and row.
#include <immintrin.h>

#include "kernels/product_kernels.h"

namespace folio {
namespace {

struct Avx512 {
  using Int = __m512i;
  using Float = __m512;
  static constexpr int kWidth = 16;
  // Rows of a register tile of float weights: 16 sums, two weights, one activation.
  static constexpr int kMicroRows = 8;
  // Rows whose sums and dot products are in registers while weights stream by: a whole tile.
  static constexpr int kFewRows = 8;

  static Int Zero() { return _mm512_setzero_si512(); }
  static Int Set8(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
  static Int Set16(int value) { return _mm512_set1_epi16(static_cast<short>(value)); }
  static Int Set32(int value) { return _mm512_set1_epi32(value); }

  static Int Load(const void* at) { return _mm512_loadu_si512(at); }
  static void Store(void* at, Int value) { _mm512_storeu_si512(at, value); }
  static Int LoadBytesAsWords(const void* at) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(at)));
  }
  static Int LoadUnsigned8(const void* at) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  static Int LoadSigned8(const void* at) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  static Int LoadUnsigned16(const void* at) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(at)));
  }
  static Int BroadcastPair(const std::int16_t* at) {
    return _mm512_set1_epi32(*reinterpret_cast<const int __attribute__((may_alias))*>(at));
  }

  static Int And(Int a, Int b) { return _mm512_and_si512(a, b); }
  static Int Or(Int a, Int b) { return _mm512_or_si512(a, b); }
  // a | (b & mask)
  static Int OrMasked(Int a, Int b, Int mask) {
    return _mm512_ternarylogic_epi32(a, b, mask, 0xf8);
  }
  static Int Add32(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Int Sub32(Int a, Int b) { return _mm512_sub_epi32(a, b); }
  static Int Sub16(Int a, Int b) { return _mm512_sub_epi16(a, b); }
  template <int kBits>
  static Int ShiftLeft16(Int a) {
    return _mm512_slli_epi16(a, kBits);
  }
  template <int kBits>
  static Int ShiftRight16(Int a) {
    return _mm512_srli_epi16(a, kBits);
  }
  template <int kBits>
  static Int ShiftRightSigned16(Int a) {
    return _mm512_srai_epi16(a, kBits);
  }
  template <int kBits>
  static Int ShiftLeft32(Int a) {
    return _mm512_slli_epi32(a, kBits);
  }
  template <int kBits>
  static Int ShiftRight32(Int a) {
    return _mm512_srli_epi32(a, kBits);
  }
  static Int LookUp(const std::int8_t* table, Int index) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), index);
  }
  // acc + the two products of each dword's word pairs.
  static Int DotAdd(Int acc, Int a, Int b) { return _mm512_dpwssd_epi32(acc, a, b); }

  static Float ZeroFloat() { return _mm512_setzero_ps(); }
  static Float LoadFloats(const float* at) { return _mm512_loadu_ps(at); }
  static void StoreFloats(float* at, Float value) { _mm512_storeu_ps(at, value); }
  static void StoreFirst(float* at, Float value, int count) {
    _mm512_mask_storeu_ps(at, static_cast<__mmask16>((1U << count) - 1), value);
  }
  static Float LoadHalves(const void* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(at)));
  }
  static Float BroadcastFloat(const float* at) { return _mm512_set1_ps(*at); }
  static Float ToFloat(Int a) { return _mm512_cvtepi32_ps(a); }
  static Float AsFloat(Int a) { return _mm512_castsi512_ps(a); }
  static Float Mul(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float Fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static Float Negate(Float a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0F)); }
  // 2^(e - 128) of exponent bytes. Those of 0 and 1 are denormal, which counts as zero.
  static Float HalvedPowerOfTwo(const void* exponents) {
    const Int e = _mm512_max_epi32(LoadUnsigned8(exponents), Set32(1));
    return AsFloat(_mm512_slli_epi32(_mm512_sub_epi32(e, Set32(1)), 23));
  }

  // Always inlined: gcc 12 finds that a function which only prefetches does nothing, and drops it.
  [[gnu::always_inline]] static void PrefetchFar(const void* at) { _mm_prefetch(at, _MM_HINT_T1); }
  [[gnu::always_inline]] static void PrefetchNear(const void* at) { _mm_prefetch(at, _MM_HINT_T0); }
};

}  // namespace

void MultiplySliceAvx512(const ProductSlice& slice) { MultiplySlice<Avx512>(slice); }

}  // namespace folio
