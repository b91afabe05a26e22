#include <cmath>
#include <cstring>

#include "kernels/machine_limits_loops.h"

namespace folio {
namespace {

struct Scalar {
  using Int = std::uint64_t;
  using Float = float;
  static constexpr std::size_t kBytes = 8;

  static Int Zero() { return 0; }
  static Int SetWords(int value) { return static_cast<Int>(value); }
  static Float SetFloat(float value) { return value; }
  static Int Load(const void* at) {
    Int value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  static Int Xor(Int a, Int b) { return a ^ b; }
  static Int DotAdd(Int acc, Int a, Int b) { return acc + a * b; }
  static Float Fma(Float a, Float b, Float c) { return std::fma(a, b, c); }
  static std::uint64_t First(Int a) { return a; }
  static float FirstFloat(Float a) { return a; }
  // The compiler must take the value for unknown: it would compute the loop's end otherwise.
  [[gnu::always_inline]] static void Hide(Float& a) { asm volatile("" : "+x"(a)); }
  [[gnu::always_inline]] static void HideInt(Int& a) { asm volatile("" : "+r"(a)); }
  [[gnu::always_inline]] static void PrefetchFar(const void* at) { __builtin_prefetch(at, 0, 2); }
  [[gnu::always_inline]] static void PrefetchNear(const void* at) { __builtin_prefetch(at, 0, 3); }
};

}  // namespace

LimitLoops LimitLoopsScalar() {
  return {.read = ReadAll<Scalar>,
          .fma = FmaRounds<Scalar>,
          .fma_flop = 2.0 * kLimitChains,
          .dot = DotRounds<Scalar>,
          .dot_op = 2.0 * kLimitChains};
}

}  // namespace folio
