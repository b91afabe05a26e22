#include "sampling/softmax_weights.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(SoftmaxWeightsTest, EveryExponentIsWithinTwoUlpOfTheTrueValue) {
  std::vector<float> logits;
  for (float x = 0.0F; x >= -87.0F; x -= 0.00137F) logits.push_back(x);
  std::vector<float> weights(logits.size());
  SoftmaxWeights(logits, 0.0F, 1.0F, weights);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double exact = std::exp(static_cast<double>(logits[i]));
    ASSERT_NEAR(weights[i] / exact, 1.0, 2.0 * 0x1p-23) << "exp(" << logits[i] << ")";
  }
}

TEST(SoftmaxWeightsTest, TheLargestWeighsExactlyOne) {
  std::vector<float> weights(1);
  SoftmaxWeights(std::vector<float>{12.5F}, 12.5F, 0.7F, weights);
  EXPECT_EQ(weights[0], 1.0F);
}

TEST(SoftmaxWeightsTest, FarBelowTheMaximumIsZero) {
  const std::vector<float> logits = {0.0F, -87.1F, -1e30F, -std::numeric_limits<float>::infinity()};
  std::vector<float> weights(logits.size());
  SoftmaxWeights(logits, 0.0F, 1.0F, weights);
  EXPECT_EQ(weights, (std::vector<float>{1.0F, 0.0F, 0.0F, 0.0F}));
}

TEST(SoftmaxWeightsTest, ATinyTemperatureLeavesTheMaximumOnly) {
  const std::vector<float> logits = {1.0F, 2.0F};
  std::vector<float> weights(logits.size());
  SoftmaxWeights(logits, 2.0F, 1e-40F, weights);
  EXPECT_EQ(weights, (std::vector<float>{0.0F, 1.0F}));
}

TEST(SoftmaxWeightsTest, AValueDoesNotDependOnItsPlace) {
  for (std::size_t size = 1; size <= 9; ++size) {
    const std::vector<float> logits(size, -3.25F);
    std::vector<float> weights(size + 1, 99.0F);
    SoftmaxWeights(logits, 0.0F, 0.9F, std::span(weights).first(size));
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(weights[i], weights[0]) << size;
    EXPECT_EQ(weights[size], 99.0F) << "wrote past the end";
  }
}

}  // namespace
}  // namespace folio
