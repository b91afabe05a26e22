#include <immintrin.h>

#include "kernels/machine_limits_loops.h"

namespace folio {
namespace {

struct Avx2 {
  using Int = __m256i;
  using Float = __m256;
  static constexpr std::size_t kBytes = 32;

  static Int Zero() { return _mm256_setzero_si256(); }
  static Int SetWords(int value) { return _mm256_set1_epi16(static_cast<short>(value)); }
  static Float SetFloat(float value) { return _mm256_set1_ps(value); }
  static Int Load(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
  static Int Xor(Int a, Int b) { return _mm256_xor_si256(a, b); }
  static Int DotAdd(Int acc, Int a, Int b) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
  }
  static Float Fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  static std::uint64_t First(Int a) {
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(a)));
  }
  static float FirstFloat(Float a) { return _mm256_cvtss_f32(a); }
  // The compiler must take the value for unknown: it would compute the loop's end otherwise.
  [[gnu::always_inline]] static void Hide(Float& a) { asm volatile("" : "+x"(a)); }
  [[gnu::always_inline]] static void HideInt(Int& a) { asm volatile("" : "+x"(a)); }
  [[gnu::always_inline]] static void PrefetchFar(const void* at) { _mm_prefetch(at, _MM_HINT_T1); }
  [[gnu::always_inline]] static void PrefetchNear(const void* at) { _mm_prefetch(at, _MM_HINT_T0); }
};

}  // namespace

LimitLoops LimitLoopsAvx2() {
  return {.read = ReadAll<Avx2>,
          .fma = FmaRounds<Avx2>,
          .fma_flop = 2.0 * 8 * kLimitChains,
          .dot = DotRounds<Avx2>,
          .dot_op = 2.0 * 16 * kLimitChains};
}

}  // namespace folio
