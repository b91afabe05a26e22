#include "sampling/softmax_weights.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace folio {
namespace {

constexpr std::size_t kLanes = 4;  // SSE2, which every x86-64 has
using Floats = float __attribute__((vector_size(16)));
using Ints = std::int32_t __attribute__((vector_size(16)));

constexpr float kSmallestExponent = -87.0F;

// exp(x) for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, a Taylor polynomial of degree 6 in r
// (its error is 1.2e-7 of the result at the ends), and 2^n by its exponent bits.
Floats Exp(Floats x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // 10 bits: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRoundToInteger = 12582912.0F;  // 1.5 * 2^23
  const Floats lowest = Floats{} + kSmallestExponent;
  const Ints is_zero = !(x >= kSmallestExponent);
  const Floats clamped = is_zero ? lowest : x;
  const Floats n = (clamped * kLog2E + kRoundToInteger) - kRoundToInteger;
  const Floats r = (clamped - n * kLn2High) - n * kLn2Low;
  Floats p = r * (1.0F / 720.0F) + (1.0F / 120.0F);
  p = p * r + (1.0F / 24.0F);
  p = p * r + (1.0F / 6.0F);
  p = p * r + 0.5F;
  p = p * (r * r) + r + 1.0F;
  const Ints power_bits = (__builtin_convertvector(n, Ints) + 127) << 23;
  Floats power;
  std::memcpy(&power, &power_bits, sizeof power);
  return is_zero ? Floats{} : p * power;
}

void ExpLanes(const float* logits, float max, float temperature, float* weights) {
  Floats x;
  std::memcpy(&x, logits, sizeof x);
  const Floats weight = Exp((x - max) / temperature);
  std::memcpy(weights, &weight, sizeof weight);
}

}  // namespace

void SoftmaxWeights(std::span<const float> logits, float max, float temperature,
                    std::span<float> weights) {
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    ExpLanes(&logits[i], max, temperature, &weights[i]);
  }
  std::array<float, kLanes> tail;
  tail.fill(-std::numeric_limits<float>::infinity());
  std::copy(logits.begin() + static_cast<std::ptrdiff_t>(whole), logits.end(), tail.begin());
  ExpLanes(tail.data(), max, temperature, tail.data());
  std::copy_n(tail.begin(), logits.size() - whole,
              weights.begin() + static_cast<std::ptrdiff_t>(whole));
}

double SumOf(std::span<const float> weights) {
  double sum = 0;
  for (const float weight : weights) sum += static_cast<double>(weight);
  return sum;
}

}  // namespace folio
