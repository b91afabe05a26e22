// Products on AVX2: 8 output rows in a register, vpmaddwd and vpaddd for the dot products.
#include <immintrin.h>

#include "kernels/product_kernels.h"

namespace folio {
namespace {

struct Avx2 {
  using Int = __m256i;
  using Float = __m256;
  static constexpr int kWidth = 8;
  // Rows of a register tile: of 16 registers, 8 dot products, two weights, one activation.
  static constexpr int kMicroRows = 4;
  static constexpr int kFewRows = 4;

  static Int Zero() { return _mm256_setzero_si256(); }
  static Int Set8(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
  static Int Set16(int value) { return _mm256_set1_epi16(static_cast<short>(value)); }
  static Int Set32(int value) { return _mm256_set1_epi32(value); }

  static Int Load(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
  static void Store(void* at, Int value) { _mm256_storeu_si256(static_cast<__m256i*>(at), value); }
  static Int LoadBytesAsWords(const void* at) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  static Int LoadUnsigned8(const void* at) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(at)));
  }
  static Int LoadSigned8(const void* at) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(at)));
  }
  static Int LoadUnsigned16(const void* at) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  static Int BroadcastPair(const std::int16_t* at) {
    return _mm256_set1_epi32(*reinterpret_cast<const int __attribute__((may_alias))*>(at));
  }

  static Int And(Int a, Int b) { return _mm256_and_si256(a, b); }
  static Int Or(Int a, Int b) { return _mm256_or_si256(a, b); }
  // a | (b & mask)
  static Int OrMasked(Int a, Int b, Int mask) { return Or(a, And(b, mask)); }
  static Int Add32(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Int Sub32(Int a, Int b) { return _mm256_sub_epi32(a, b); }
  static Int Sub16(Int a, Int b) { return _mm256_sub_epi16(a, b); }
  template <int kBits>
  static Int ShiftLeft16(Int a) {
    return _mm256_slli_epi16(a, kBits);
  }
  template <int kBits>
  static Int ShiftRight16(Int a) {
    return _mm256_srli_epi16(a, kBits);
  }
  template <int kBits>
  static Int ShiftRightSigned16(Int a) {
    return _mm256_srai_epi16(a, kBits);
  }
  template <int kBits>
  static Int ShiftLeft32(Int a) {
    return _mm256_slli_epi32(a, kBits);
  }
  template <int kBits>
  static Int ShiftRight32(Int a) {
    return _mm256_srli_epi32(a, kBits);
  }
  static Int LookUp(const std::int8_t* table, Int index) {
    const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), index);
  }
  // acc + the two products of each dword's word pairs.
  static Int DotAdd(Int acc, Int a, Int b) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
  }

  static Float ZeroFloat() { return _mm256_setzero_ps(); }
  static Float LoadFloats(const float* at) { return _mm256_loadu_ps(at); }
  static void StoreFloats(float* at, Float value) { _mm256_storeu_ps(at, value); }
  static void StoreFirst(float* at, Float value, int count) {
    const Int lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(at, _mm256_cmpgt_epi32(Set32(count), lanes), value);
  }
  static Float LoadHalves(const void* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  static Float BroadcastFloat(const float* at) { return _mm256_broadcast_ss(at); }
  static Float ToFloat(Int a) { return _mm256_cvtepi32_ps(a); }
  static Float AsFloat(Int a) { return _mm256_castsi256_ps(a); }
  static Float Mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float Fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static Float Negate(Float a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0F)); }
  // 2^(e - 128) of exponent bytes. Those of 0 and 1 are denormal, which counts as zero.
  static Float HalvedPowerOfTwo(const void* exponents) {
    const Int e = _mm256_max_epi32(LoadUnsigned8(exponents), Set32(1));
    return AsFloat(_mm256_slli_epi32(Sub32(e, Set32(1)), 23));
  }

  // Always inlined: gcc 12 finds that a function which only prefetches does nothing, and drops it.
  [[gnu::always_inline]] static void PrefetchFar(const void* at) { _mm_prefetch(at, _MM_HINT_T1); }
  [[gnu::always_inline]] static void PrefetchNear(const void* at) { _mm_prefetch(at, _MM_HINT_T0); }
};

}  // namespace

void MultiplySliceAvx2(const ProductSlice& slice) { MultiplySlice<Avx2>(slice); }

}  // namespace folio
