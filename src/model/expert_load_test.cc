#include "model/expert_load.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

// Routes each row of probabilities to its best expert.
ExpertLoad LoadOf(const std::vector<std::vector<float>>& rows) {
  const auto experts = static_cast<int>(rows[0].size());
  ExpertLoad load(experts);
  std::vector<float> scores(rows[0].size());
  for (std::vector<float> logits : rows) {
    for (float& value : logits) value = std::log(value);
    RoutedExpert chosen;
    Route({.experts = experts, .top_k = 1, .weights = RouterWeights::kScores}, logits.data(),
          nullptr, scores.data(), {&chosen, 1});
    load.Add({&chosen, 1}, scores);
  }
  return load;
}

TEST(ExpertLoadTest, ARouterThatSendsAllToOneCostsWhatItsMeanProbabilitySays) {
  const ExpertLoad load = LoadOf({{0.62F, 0.18F, 0.10F, 0.10F},
                                  {0.55F, 0.15F, 0.20F, 0.10F},
                                  {0.58F, 0.12F, 0.15F, 0.15F},
                                  {0.58F, 0.22F, 0.08F, 0.12F}});
  EXPECT_EQ(load.tokens(), 4);
  EXPECT_DOUBLE_EQ(load.Fraction(0), 1);
  EXPECT_NEAR(load.MeanScore(0), 0.5825, 1e-6);
  EXPECT_NEAR(load.BalanceLoss(), 2.33, 1e-6);
  EXPECT_DOUBLE_EQ(load.Entropy(), 0);
}

TEST(ExpertLoadTest, ABalancedRouterReachesTheMinimumOfOne) {
  const ExpertLoad load = LoadOf({{0.4F, 0.2F, 0.2F, 0.2F},
                                  {0.2F, 0.4F, 0.2F, 0.2F},
                                  {0.2F, 0.2F, 0.4F, 0.2F},
                                  {0.2F, 0.2F, 0.2F, 0.4F}});
  for (int expert = 0; expert < 4; ++expert) EXPECT_DOUBLE_EQ(load.Fraction(expert), 0.25);
  EXPECT_NEAR(load.BalanceLoss(), 1, 1e-6);
  EXPECT_NEAR(load.Entropy(), 1, 1e-12);
}

TEST(ExpertLoadTest, RowsWithoutNumbersAreLeftOut) {
  ExpertLoad load(2);
  const std::vector<RoutedExpert> chosen = {{.expert = 0}, {.expert = 1}};
  load.Add(chosen, std::vector<float>{std::numeric_limits<float>::quiet_NaN(), 0, 0.25F, 0.75F});
  EXPECT_EQ(load.tokens(), 1);
  EXPECT_EQ(load.chosen(0), 0);
  EXPECT_EQ(load.chosen(1), 1);
}

TEST(ExpertLoadTest, NothingCountedIsNothingToTell) {
  const ExpertLoad load(3);
  EXPECT_EQ(load.BalanceLoss(), 0);
  EXPECT_EQ(load.Fraction(2), 0);
}

}  // namespace
}  // namespace folio
