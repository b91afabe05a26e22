// Frequencies of every scaling against float64 values of its published formula, which
// tests/golden/make_position_references.py computes and compares with Hugging Face transformers.
#include "model/positions/rope_scaling.h"

#include <cmath>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "golden/position_references.h"

namespace folio {
namespace {

constexpr RopeShape kSmall{.base = 1e4, .rotary_dim = 32};

void ExpectFrequencies(const Rope& rope, std::span<const double> wanted) {
  ASSERT_EQ(rope.frequencies.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(rope.frequencies[i] / wanted[i], 1.0, 1e-13) << "pair " << i;
}

std::vector<float> Floats(std::span<const double> values) { return {values.begin(), values.end()}; }

LongRopeScaling Phi() {
  return {.short_factors = Floats(kLongRopeShortFactors),
          .long_factors = Floats(kLongRopeLongFactors),
          .original_context = 4096,
          .attention_factor = LongRopeAttentionFactor(32.0, 4096)};
}

TEST(RopeScalingTest, NoScalingIsThePublishedGeometricSequence) {
  const Rope rope = MakeRope(kSmall, RopeScaling{}, 0);
  ExpectFrequencies(rope, kRope);
  EXPECT_EQ(rope.attention_factor, 1.0);
}

TEST(RopeScalingTest, NoRotaryDimensionsAreNoPositions) {
  EXPECT_TRUE(MakeRope({.rotary_dim = 0}, RopeScaling{}, 0).frequencies.empty());
}

TEST(RopeScalingTest, PartialRotaryHasTheHandsOfItsOwnDimensions) {
  // Half of a head of 64 turns as a whole head of 32 does.
  const std::vector<double> part = RopeFrequencies({.base = 1e4, .rotary_dim = 32});
  ASSERT_EQ(part.size(), 16U);
  EXPECT_NEAR(part[8], 0.01, 1e-16);
}

TEST(RopeScalingTest, LinearDividesEveryFrequency) {
  ExpectFrequencies(MakeRope(kSmall, LinearScaling{.factor = 4.0}, 0), kLinear);
}

TEST(RopeScalingTest, DynamicNtkChangesAllAnglesOncePastTheTrainedLength) {
  const DynamicNtkScaling scaling{.factor = 4.0, .trained_length = 2048};
  ExpectFrequencies(MakeRope(kSmall, RopeScaling{scaling}, 6000), kDynamic);
  ExpectFrequencies(MakeRope(kSmall, RopeScaling{scaling}, 1), kRope);
  ExpectFrequencies(MakeRope(kSmall, RopeScaling{scaling}, 2048), kRope);
  // One token more, and no key of the tokens before it is what it was: why the engine has it not.
  const Rope longer = MakeRope(kSmall, RopeScaling{scaling}, 2049);
  for (std::size_t i = 1; i < kRope.size(); ++i)
    EXPECT_LT(longer.frequencies[i], kRope[i] * (1 - 1e-5));
}

TEST(RopeScalingTest, YarnKeepsFastHandsAndInterpolatesSlowOnes) {
  const YarnScaling qwen{.factor = 4.0, .original_context = 32768};
  const Rope rope = MakeRope({.base = 1e6, .rotary_dim = 128}, RopeScaling{qwen}, 0);
  ExpectFrequencies(rope, kYarn);
  const std::vector<double> plain = RopeFrequencies({.base = 1e6, .rotary_dim = 128});
  EXPECT_EQ(rope.frequencies[0], plain[0]);
  EXPECT_EQ(rope.frequencies[63], plain[63] / 4.0);
  const YarnScaling betas{
      .factor = 16.0, .original_context = 1024, .beta_fast = 16.0, .beta_slow = 2.0};
  ExpectFrequencies(MakeRope(kSmall, RopeScaling{betas}, 0), kYarnBetas);
}

TEST(RopeScalingTest, YarnsAttentionFactorGrowsWithTheLogarithm) {
  EXPECT_NEAR(YarnAttentionFactor(4.0), kYarnAttentionFactors[0], 1e-14);
  EXPECT_NEAR(YarnAttentionFactor(16.0), kYarnAttentionFactors[1], 1e-14);
  EXPECT_NEAR(YarnAttentionFactor(40.0, 1.0, 0.707), kYarnAttentionFactors[2], 1e-14);
  EXPECT_EQ(YarnAttentionFactor(1.0), 1.0);
  EXPECT_EQ(YarnAttentionFactor(0.5), 1.0);
  const YarnScaling scaling{.factor = 4.0, .original_context = 32768, .attention_factor = 1.25};
  EXPECT_EQ(MakeRope(kSmall, RopeScaling{scaling}, 0).attention_factor, 1.25);
}

TEST(RopeScalingTest, YarnOfAContextThatEveryHandGoesAroundOftenIsNoChange) {
  const YarnScaling scaling{.factor = 8.0, .original_context = 1e9};
  ExpectFrequencies(MakeRope({.base = 10.0, .rotary_dim = 32}, RopeScaling{scaling}, 0),
                    RopeFrequencies({.base = 10.0, .rotary_dim = 32}));
}

TEST(RopeScalingTest, Llama3ByItsFormulaIsLlama3ByTheFilesFactors) {
  const RopeShape shape{.base = 5e5, .rotary_dim = 128};
  const Rope rope = MakeRope(shape, RopeScaling{Llama3Scaling{}}, 0);
  ExpectFrequencies(rope, kLlama3);
  std::vector<double> by_file = RopeFrequencies(shape);
  std::vector<float> factors;
  for (std::size_t i = 0; i < by_file.size(); ++i)
    factors.push_back(static_cast<float>(by_file[i] / rope.frequencies[i]));
  EXPECT_EQ(factors.front(), 1.0F);
  EXPECT_EQ(factors.back(), 8.0F);
  DivideByFactors(factors, by_file);
  for (std::size_t i = 0; i < by_file.size(); ++i)
    EXPECT_NEAR(by_file[i] / rope.frequencies[i], 1.0, 1e-7);  // factors are float32
}

TEST(RopeScalingTest, LongRopeTakesTheLongListPastTheOriginalContextOnly) {
  ExpectFrequencies(MakeRope(kSmall, RopeScaling{Phi()}, 4096), kLongRopeShort);
  ExpectFrequencies(MakeRope(kSmall, RopeScaling{Phi()}, 4097), kLongRopeLong);
  EXPECT_NEAR(LongRopeAttentionFactor(32.0, 4096), kLongRopeAttentionFactor[0], 1e-14);
  EXPECT_EQ(LongRopeAttentionFactor(1.0, 4096), 1.0);
  EXPECT_EQ(MakeRope(kSmall, RopeScaling{Phi()}, 1).attention_factor, Phi().attention_factor);
}

TEST(RopeScalingTest, NamesAreThoseOfConfigurations) {
  EXPECT_EQ(RopeScalingName(NoScaling{}), "none");
  EXPECT_EQ(RopeScalingName(LinearScaling{}), "linear");
  EXPECT_EQ(RopeScalingName(DynamicNtkScaling{}), "dynamic");
  EXPECT_EQ(RopeScalingName(YarnScaling{}), "yarn");
  EXPECT_EQ(RopeScalingName(Llama3Scaling{}), "llama3");
  EXPECT_EQ(RopeScalingName(LongRopeScaling{}), "longrope");
}

}  // namespace
}  // namespace folio
