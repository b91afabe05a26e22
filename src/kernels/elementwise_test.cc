#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/guarded_floats_testing.h"

namespace folio {
namespace {

using Floats = std::vector<float>;

std::vector<Isa> VectorIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (CpuHas(isa)) isas.push_back(isa);
  }
  return isas;
}

Floats Normal(std::int64_t n, unsigned seed, float deviation = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

// An operation of two input rows a, b and an output row that starts as `out`, each of n floats.
struct Operation {
  std::string name;
  std::function<void(Isa, const float* a, const float* b, std::int64_t n, float* out)> run;
};

const std::vector<Operation>& Operations() {
  static const std::vector<Operation> operations = {
      {"RmsNorm", [](Isa isa, const float* a, const float* b, std::int64_t n,
                     float* out) { RmsNorm(isa, a, b, n, 1e-5F, out); }},
      {"LayerNorm", [](Isa isa, const float* a, const float* b, std::int64_t n,
                       float* out) { LayerNorm(isa, a, b, a, n, 1e-5F, out); }},
      {"AddInPlace", [](Isa isa, const float* a, const float*, std::int64_t n,
                        float* out) { AddInPlace(isa, a, n, out); }},
      {"ScaleInPlace", [](Isa isa, const float*, const float* b, std::int64_t n,
                          float* out) { ScaleInPlace(isa, b[0], n, out); }},
      {"SiluMul", [](Isa isa, const float* a, const float* b, std::int64_t n,
                     float* out) { SiluMul(isa, a, b, n, out); }},
      {"GeluMul", [](Isa isa, const float* a, const float* b, std::int64_t n,
                     float* out) { GeluMul(isa, a, b, n, out); }},
      {"ClampedSiluMul", [](Isa isa, const float* a, const float* b, std::int64_t n,
                            float* out) { ClampedSiluMul(isa, a, b, n, out); }},
      {"GeluInPlace", [](Isa isa, const float*, const float*, std::int64_t n,
                         float* out) { GeluInPlace(isa, n, out); }},
      {"SoftcapInPlace", [](Isa isa, const float*, const float*, std::int64_t n,
                            float* out) { SoftcapInPlace(isa, 2.5F, n, out); }},
      {"RotateAdjacent",
       [](Isa isa, const float* a, const float* b, std::int64_t n, float* out) {
         RotateHead(isa, RopePairs::kAdjacent, a, b, n / 2 * 2, out);
       }},
      {"RotateHalves",
       [](Isa isa, const float* a, const float* b, std::int64_t n, float* out) {
         RotateHead(isa, RopePairs::kHalves, a, b, n / 2 * 2, out);
       }},
  };
  return operations;
}

// Runs with all three rows ending at unreadable pages, so that an access past a row faults.
Floats RunGuarded(const Operation& operation, Isa isa, const Floats& a, const Floats& b,
                  const Floats& start) {
  const ScopedFlushDenormals flush;
  GuardedFloats guarded_a(a);
  GuardedFloats guarded_b(b);
  GuardedFloats out(start);
  operation.run(isa, guarded_a.data(), guarded_b.data(), static_cast<std::int64_t>(start.size()),
                out.data());
  return out.copy();
}

void ExpectSameBits(const Operation& operation, const Floats& a, const Floats& b,
                    const Floats& start) {
  const Floats expected = RunGuarded(operation, Isa::kScalar, a, b, start);
  for (const Isa isa : VectorIsas()) {
    const Floats actual = RunGuarded(operation, isa, a, b, start);
    ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0)
        << operation.name << " " << IsaName(isa) << " n=" << start.size();
  }
}

TEST(ElementwiseTest, EveryIsaGivesTheScalarBitsAtEveryLength) {
  for (const Operation& operation : Operations()) {
    for (std::int64_t n = 1; n <= 131; ++n) {
      ExpectSameBits(operation, Normal(n, 1, 4.0F), Normal(n, 2), Normal(n, 3));
    }
    for (const std::int64_t n : {576, 1536, 2048, 4096, 4099}) {
      ExpectSameBits(operation, Normal(n, 4, 4.0F), Normal(n, 5), Normal(n, 6));
    }
  }
}

TEST(ElementwiseTest, EveryIsaGivesTheScalarBitsForExtremeValues) {
  const float largest = std::numeric_limits<float>::max();
  Floats extreme;
  for (const float x : {0.0F, 1e-45F, 1e-39F, 1.2e-38F, 1e-30F, 1e-3F, 20.0F, 80.0F, 87.33F, 87.34F,
                        88.72F, 88.73F, 100.0F, 1e10F, 1e19F, largest}) {
    extreme.push_back(x);
    extreme.push_back(-x);
  }
  const Floats ones(extreme.size(), 1.0F);
  for (const Operation& operation : Operations()) ExpectSameBits(operation, extreme, ones, extreme);
}

TEST(ElementwiseTest, MisalignedRowsGiveTheSameBits) {
  const ScopedFlushDenormals flush;
  const Floats a = Normal(160, 7);
  const Floats b = Normal(160, 8);
  for (const Operation& operation : Operations()) {
    for (const Isa isa : VectorIsas()) {
      for (std::size_t offset = 0; offset < 16; ++offset) {
        Floats expected = Normal(160, 9);
        Floats actual = expected;
        operation.run(Isa::kScalar, a.data() + offset, b.data() + offset, 100,
                      expected.data() + offset);
        operation.run(isa, a.data() + offset, b.data() + offset, 100, actual.data() + offset);
        ASSERT_EQ(expected, actual) << operation.name << " " << IsaName(isa) << " at " << offset;
      }
    }
  }
}

TEST(ElementwiseTest, RmsNormEqualsItsFormulaAndMayBeInPlace) {
  const ScopedFlushDenormals flush;
  for (const std::int64_t n : {1, 17, 64, 576, 4096}) {
    const Floats x = Normal(n, 10, 3.0F);
    const Floats weight = Normal(n, 11);
    Floats out = x;
    RmsNorm(Isa::kScalar, out.data(), weight.data(), n, 1e-6F, out.data());
    double sum = 0.0;
    for (const float value : x) sum += static_cast<double>(value) * value;
    const double r = 1.0 / std::sqrt(sum / static_cast<double>(n) + 1e-6);
    for (std::size_t i = 0; i < x.size(); ++i) {
      // n/16 + 4 additions of positive terms, halved by the root, and four roundings more.
      const double bound = (static_cast<double>(n) / 32.0 + 8.0) * 0x1p-24;
      const double exact = x[i] * r * weight[i];
      ASSERT_NEAR(out[i], exact, std::fabs(exact) * bound) << n << " " << i;
    }
  }
}

TEST(ElementwiseTest, GatesEqualTheirFormulas) {
  const ScopedFlushDenormals flush;
  Floats gate;
  for (float g = -30.0F; g <= 30.0F; g += 0.01F) gate.push_back(g);
  const auto n = static_cast<std::int64_t>(gate.size());
  const Floats up = Normal(n, 12);
  Floats silu(gate.size());
  Floats gelu(gate.size());
  SiluMul(Isa::kScalar, gate.data(), up.data(), n, silu.data());
  GeluMul(Isa::kScalar, gate.data(), up.data(), n, gelu.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i];
    const double exact_silu = g / (1.0 + std::exp(-g)) * up[i];
    EXPECT_NEAR(silu[i], exact_silu, std::fabs(exact_silu) * 6 * 0x1p-24 + 1e-37) << g;
    const double t = std::sqrt(2.0 / std::numbers::pi) * (g + 0.044715 * g * g * g);
    const double exact_gelu = g / (1.0 + std::exp(-2.0 * t)) * up[i];
    // The exponential turns the relative error of 2t (about five roundings) into an absolute one.
    const double relative = (6 + 10 * std::fabs(t)) * 0x1p-24;
    EXPECT_NEAR(gelu[i], exact_gelu, std::fabs(exact_gelu) * relative + 1e-37) << g;
  }
}

TEST(ElementwiseTest, LayerNormEqualsItsFormulaAndMayBeInPlace) {
  const ScopedFlushDenormals flush;
  for (const std::int64_t n : {2, 17, 64, 768, 1600}) {
    Floats x = Normal(n, 14, 3.0F);
    for (float& value : x) value += 5.0F;  // a mean that RMSNorm would leave in
    const Floats weight = Normal(n, 15);
    const Floats bias = Normal(n, 16);
    Floats out = x;
    LayerNorm(Isa::kScalar, out.data(), weight.data(), bias.data(), n, 1e-3F, out.data());
    double sum = 0.0;
    for (const float value : x) sum += value;
    const double mean = sum / static_cast<double>(n);
    double squares = 0.0;
    for (const float value : x) squares += (value - mean) * (value - mean);
    const double r = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-3);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = (x[i] - mean) * r * weight[i] + bias[i];
      // Errors are relative to x, which the mean's subtraction makes smaller.
      const double bound =
          (static_cast<double>(n) / 16.0 + 16.0) * 0x1p-24 *
          ((std::fabs(x[i]) + std::fabs(mean)) * r * std::fabs(weight[i]) + std::fabs(bias[i]));
      ASSERT_NEAR(out[i], exact, bound) << n << " " << i;
    }
  }
}

// The tanh form of GELU differs from the one by the error function by up to 5e-4: enough to tell.
TEST(ElementwiseTest, GeluIsTheTanhForm) {
  const ScopedFlushDenormals flush;
  double largest = 0.0;
  for (float x = -4.0F; x <= 4.0F; x += 0.01F) {
    float y = x;
    GeluInPlace(Isa::kScalar, 1, &y);
    const double wide = x;
    const double t = std::sqrt(2.0 / std::numbers::pi) * (wide + 0.044715 * wide * wide * wide);
    EXPECT_NEAR(y, 0.5 * wide * (1.0 + std::tanh(t)), 1e-6) << x;
    largest =
        std::max(largest, std::fabs(y - 0.5 * wide * (1.0 + std::erf(wide / std::sqrt(2.0)))));
  }
  EXPECT_GT(largest, 3e-4);
}

TEST(ElementwiseTest, ClampedSiluMulEqualsItsFormula) {
  const ScopedFlushDenormals flush;
  for (const float g : {-20.0F, -7.5F, -1.0F, 0.0F, 0.3F, 6.9F, 7.0F, 7.1F, 50.0F}) {
    for (const float u : {-20.0F, -7.0F, -1.0F, 0.0F, 0.4F, 6.9F, 7.1F, 50.0F}) {
      float out = 0.0F;
      ClampedSiluMul(Isa::kScalar, &g, &u, 1, &out);
      const double gate = std::min(static_cast<double>(g), 7.0);  // not cut below
      const double up = std::clamp(static_cast<double>(u), -7.0, 7.0);
      const double exact = (up + 1.0) * gate / (1.0 + std::exp(-1.702 * gate));
      EXPECT_NEAR(out, exact, std::fabs(exact) * 4e-6 + 1e-12) << g << " " << u;
    }
  }
}

TEST(ElementwiseTest, SoftcapIsCapTimesTanh) {
  const ScopedFlushDenormals flush;
  for (const float cap : {1.0F, 30.0F, 50.0F}) {
    for (float x = -4.0F * cap; x <= 4.0F * cap; x += cap / 64.0F) {
      float y = x;
      SoftcapInPlace(Isa::kScalar, cap, 1, &y);
      EXPECT_NEAR(y, cap * std::tanh(static_cast<double>(x) / cap), cap * 4e-7) << x << " " << cap;
    }
    float far[2] = {1e30F, -1e30F};
    SoftcapInPlace(Isa::kScalar, cap, 2, far);
    EXPECT_EQ(far[0], cap);
    EXPECT_EQ(far[1], -cap);
  }
}

TEST(ElementwiseTest, NoNumberStaysNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!CpuHas(isa)) continue;
    for (const auto& [gate, up] : {std::pair{nan, 1.0F}, std::pair{1.0F, nan}}) {
      float out = 0.0F;
      ClampedSiluMul(isa, &gate, &up, 1, &out);
      EXPECT_TRUE(std::isnan(out)) << IsaName(isa);
    }
    float y = nan;
    SoftcapInPlace(isa, 30.0F, 1, &y);
    EXPECT_TRUE(std::isnan(y)) << IsaName(isa);
  }
}

TEST(ElementwiseTest, LargeGatesAreNeverNan) {
  const ScopedFlushDenormals flush;
  for (const float g : {1e5F, 1e10F, 1e19F, 1e20F, 1e30F, std::numeric_limits<float>::max()}) {
    const float gates[2] = {g, -g};
    const float ones[2] = {1.0F, 1.0F};
    float out[2];
    SiluMul(Isa::kScalar, gates, ones, 2, out);
    EXPECT_EQ(out[0], g);
    EXPECT_EQ(out[1], 0.0F);
    GeluMul(Isa::kScalar, gates, ones, 2, out);
    EXPECT_EQ(out[0], g);
    EXPECT_EQ(out[1], 0.0F);
  }
}

TEST(ElementwiseTest, RotationTurnsPairsAndLeavesTheRestOfTheHead) {
  const ScopedFlushDenormals flush;
  constexpr int kRotary = 48;
  constexpr int kHead = 64;
  const Floats head = Normal(kHead, 13);
  Floats cosines;
  Floats sines;
  for (int i = 0; i < kRotary / 2; ++i) {
    cosines.push_back(std::cos(0.3F * static_cast<float>(i)));
    sines.push_back(std::sin(0.3F * static_cast<float>(i)));
  }
  for (const RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kHalves}) {
    Floats rotated = head;
    RotateHead(Isa::kScalar, pairs, cosines.data(), sines.data(), kRotary, rotated.data());
    for (std::size_t i = 0; i < kRotary / 2; ++i) {
      const std::size_t a = pairs == RopePairs::kAdjacent ? 2 * i : i;
      const std::size_t b = pairs == RopePairs::kAdjacent ? 2 * i + 1 : i + kRotary / 2;
      EXPECT_NEAR(rotated[a], head[a] * cosines[i] - head[b] * sines[i], 1e-6);
      EXPECT_NEAR(rotated[b], head[b] * cosines[i] + head[a] * sines[i], 1e-6);
    }
    for (std::size_t i = kRotary; i < kHead; ++i) EXPECT_EQ(rotated[i], head[i]);
  }
}

}  // namespace
}  // namespace folio
