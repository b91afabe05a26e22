#include <immintrin.h>

#include "kernels/machine_limits_loops.h"

namespace folio {
namespace {

struct Avx512 {
  using Int = __m512i;
  using Float = __m512;
  static constexpr std::size_t kBytes = 64;

  static Int Zero() { return _mm512_setzero_si512(); }
  static Int SetWords(int value) { return _mm512_set1_epi16(static_cast<short>(value)); }
  static Float SetFloat(float value) { return _mm512_set1_ps(value); }
  static Int Load(const void* at) { return _mm512_loadu_si512(at); }
  static Int Xor(Int a, Int b) { return _mm512_xor_si512(a, b); }
  static Int DotAdd(Int acc, Int a, Int b) { return _mm512_dpwssd_epi32(acc, a, b); }
  static Float Fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  static std::uint64_t First(Int a) {
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm512_castsi512_si128(a)));
  }
  static float FirstFloat(Float a) { return _mm512_cvtss_f32(a); }
  // The compiler must take the value for unknown: it would compute the loop's end otherwise.
  [[gnu::always_inline]] static void Hide(Float& a) { asm volatile("" : "+v"(a)); }
  [[gnu::always_inline]] static void HideInt(Int& a) { asm volatile("" : "+v"(a)); }
  [[gnu::always_inline]] static void PrefetchFar(const void* at) { _mm_prefetch(at, _MM_HINT_T1); }
  [[gnu::always_inline]] static void PrefetchNear(const void* at) { _mm_prefetch(at, _MM_HINT_T0); }
};

}  // namespace

LimitLoops LimitLoopsAvx512() {
  return {.read = ReadAll<Avx512>,
          .fma = FmaRounds<Avx512>,
          .fma_flop = 2.0 * 16 * kLimitChains,
          .dot = DotRounds<Avx512>,
          .dot_op = 2.0 * 32 * kLimitChains};
}

}  // namespace folio
