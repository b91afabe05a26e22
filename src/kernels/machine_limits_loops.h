// The loops of MeasureMachineLimits, one table for each instruction set. Static and templates only:
// nothing built for one instruction set may be linked into another's code.
#ifndef FOLIO_KERNELS_MACHINE_LIMITS_LOOPS_H_
#define FOLIO_KERNELS_MACHINE_LIMITS_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/product_weights.h"  // Unroll

namespace folio {

struct LimitLoops {
  // Reads all bytes, a multiple of 1024; returns something that depends on them.
  std::uint64_t (*read)(const std::byte* data, std::size_t bytes);
  // So many rounds of independent operations in registers.
  float (*fma)(std::int64_t rounds);
  double fma_flop;  // of a round
  std::int32_t (*dot)(std::int64_t rounds);
  double dot_op;
};

LimitLoops LimitLoopsScalar();
LimitLoops LimitLoopsAvx2();
LimitLoops LimitLoopsAvx512();

// Enough chains that no operation waits for the one before: latency 4 to 5, two a cycle.
constexpr int kLimitChains = 12;

// The loops for a vector class V, which lives in its file's unnamed namespace.
template <class V>
std::uint64_t ReadAll(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kStep = 1024;
  typename V::Int sums[4] = {V::Zero(), V::Zero(), V::Zero(), V::Zero()};
  for (std::size_t at = 0; at < bytes; at += kStep) {
    for (std::size_t line = 0; line < kStep; line += 64) {  // as the kernels do
      V::PrefetchFar(data + at + 16384 + line);
      V::PrefetchNear(data + at + 2048 + line);
    }
    for (std::size_t i = 0; i < kStep; i += 4 * V::kBytes) {
      for (std::size_t j = 0; j < 4; ++j) {
        sums[j] = V::Xor(sums[j], V::Load(data + at + i + j * V::kBytes));
      }
    }
  }
  return V::First(V::Xor(V::Xor(sums[0], sums[1]), V::Xor(sums[2], sums[3])));
}

template <class V>
float FmaRounds(std::int64_t rounds) {
  typename V::Float chains[kLimitChains];
  const auto all = [&](auto&& body) __attribute__((always_inline)) {
    // Written out, so that the chains are registers.
    Unroll<kLimitChains>(
        [&](auto index) __attribute__((always_inline)) { body(chains[decltype(index)::value]); });
  };
  all([](auto& chain) { chain = V::SetFloat(1.0F); });
  typename V::Float factor = V::SetFloat(0.999F);
  V::Hide(factor);
  for (std::int64_t i = 0; i < rounds; ++i) {
    all([&](auto& chain) __attribute__((always_inline)) {
      chain = V::Fma(chain, factor, factor);
      V::Hide(chain);
    });
  }
  float sum = 0;
  all([&](auto& chain) { sum += V::FirstFloat(chain); });
  return sum;
}

template <class V>
std::int32_t DotRounds(std::int64_t rounds) {
  typename V::Int chains[kLimitChains];
  const auto all = [&](auto&& body) __attribute__((always_inline)) {
    Unroll<kLimitChains>(
        [&](auto index) __attribute__((always_inline)) { body(chains[decltype(index)::value]); });
  };
  all([](auto& chain) { chain = V::Zero(); });
  typename V::Int factor = V::SetWords(3);
  V::HideInt(factor);
  for (std::int64_t i = 0; i < rounds; ++i) {
    all([&](auto& chain) __attribute__((always_inline)) {
      V::HideInt(factor);  // or its product would be taken out of the loop
      chain = V::DotAdd(chain, factor, factor);
      V::HideInt(chain);
    });
  }
  std::uint64_t sum = 0;
  all([&](auto& chain) { sum += V::First(chain); });
  return static_cast<std::int32_t>(sum);
}

}  // namespace folio

#endif  // FOLIO_KERNELS_MACHINE_LIMITS_LOOPS_H_
