#include "model/moe_router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

struct Routed {
  bool finite = false;
  std::vector<float> scores;
  std::vector<RoutedExpert> chosen;
};

Routed RouteLogits(const RouterConfig& config, const std::vector<float>& logits,
                   const std::vector<float>& bias = {}) {
  Routed routed;
  routed.scores.resize(logits.size());
  routed.chosen.resize(static_cast<std::size_t>(config.top_k));
  routed.finite = Route(config, logits.data(), bias.empty() ? nullptr : bias.data(),
                        routed.scores.data(), routed.chosen);
  return routed;
}

// Logits whose softmax these probabilities are.
std::vector<float> LogitsOf(std::vector<float> probabilities) {
  for (float& value : probabilities) value = std::log(value);
  return probabilities;
}

std::vector<int> Experts(const Routed& routed) {
  std::vector<int> experts;
  for (const RoutedExpert& each : routed.chosen) experts.push_back(each.expert);
  return experts;
}

const std::vector<float> kSeed = {0.45F, 0.19F, 0.05F, 0.31F};

TEST(RouterTest, SwitchTakesOneExpertByItsRawProbability) {
  const Routed routed =
      RouteLogits({.experts = 4, .top_k = 1, .weights = RouterWeights::kScores}, LogitsOf(kSeed));
  ASSERT_TRUE(routed.finite);
  EXPECT_EQ(Experts(routed), std::vector{0});
  EXPECT_NEAR(routed.chosen[0].weight, 0.45F, 1e-6F);
  for (std::size_t i = 0; i < kSeed.size(); ++i) EXPECT_NEAR(routed.scores[i], kSeed[i], 1e-6F);
}

TEST(RouterTest, MixtralRenormalisesItsTwo) {
  const Routed routed = RouteLogits({.experts = 4, .top_k = 2}, LogitsOf(kSeed));
  EXPECT_EQ(Experts(routed), (std::vector{0, 3}));
  EXPECT_NEAR(routed.chosen[0].weight, 0.45F / 0.76F, 1e-6F);
  EXPECT_NEAR(routed.chosen[1].weight, 0.31F / 0.76F, 1e-6F);
}

TEST(RouterTest, SoftmaxOfTheChosenIsWhatRenormalisingGives) {
  const RouterConfig renormalised{.experts = 4, .top_k = 3};
  RouterConfig of_chosen = renormalised;
  of_chosen.weights = RouterWeights::kSoftmaxOfChosen;
  const Routed a = RouteLogits(renormalised, LogitsOf(kSeed));
  const Routed b = RouteLogits(of_chosen, LogitsOf(kSeed));
  EXPECT_EQ(Experts(a), Experts(b));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(a.chosen[i].weight, b.chosen[i].weight, 1e-6F);
}

TEST(RouterTest, OfEqualExpertsTheLowestIndexIsFirst) {
  const std::vector<float> logits = {1, 3, 2, 3, 2, 3};
  EXPECT_EQ(Experts(RouteLogits({.experts = 6, .top_k = 2}, logits)), (std::vector{1, 3}));
  EXPECT_EQ(Experts(RouteLogits({.experts = 6, .top_k = 5}, logits)), (std::vector{1, 3, 5, 2, 4}));
}

TEST(RouterTest, LogitsDecideWhereTheirProbabilitiesRoundToTheSame) {
  // Both have probability 0 beside the first: rounding must not hand the choice to the index.
  EXPECT_EQ(Experts(RouteLogits({.experts = 3, .top_k = 2}, {200, -1, 5})), (std::vector{0, 2}));
}

TEST(RouterTest, ABiasSteersTheChoiceAndLeavesTheWeights) {
  const RouterConfig config{.experts = 4,
                            .top_k = 2,
                            .scores = RouterScores::kSigmoid,
                            .weights = RouterWeights::kRenormalised,
                            .scale = 2.5F};
  const std::vector<float> logits = {0.0F, 1.0F, -1.0F, 2.0F};
  EXPECT_EQ(Experts(RouteLogits(config, logits)), (std::vector{3, 1}));
  const Routed biased = RouteLogits(config, logits, {0.0F, -1.0F, 1.0F, 0.0F});
  EXPECT_EQ(Experts(biased), (std::vector{2, 3}));
  const double low = 1 / (1 + std::exp(1.0));
  const double high = 1 / (1 + std::exp(-2.0));
  EXPECT_NEAR(biased.chosen[0].weight, 2.5 * low / (low + high), 1e-6);
  EXPECT_NEAR(biased.chosen[1].weight, 2.5 * high / (low + high), 1e-6);
}

TEST(RouterTest, OnlyTheBestGroupsAreChosenFrom) {
  RouterConfig config{.experts = 6,
                      .top_k = 2,
                      .scores = RouterScores::kSigmoid,
                      .groups = 3,
                      .top_groups = 1,
                      .group_best = 2};
  // The best expert stands in the first group, the best pair in the last.
  const std::vector<float> logits = {3.0F, -4.0F, 0.0F, 0.1F, 2.0F, 1.9F};
  EXPECT_EQ(Experts(RouteLogits(config, logits)), (std::vector{4, 5}));
  config.group_best = 1;
  EXPECT_EQ(Experts(RouteLogits(config, logits)), (std::vector{0, 1}));
  config.top_groups = 2;
  EXPECT_EQ(Experts(RouteLogits(config, logits)), (std::vector{0, 4}));
}

TEST(RouterTest, LogitsThatAreNoNumbersAreToldAndShow) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    const Routed routed = RouteLogits({.experts = 3, .top_k = 2}, {1, bad, 2});
    EXPECT_FALSE(routed.finite);
    EXPECT_EQ(Experts(routed), (std::vector{0, 1}));
    EXPECT_TRUE(std::isnan(routed.chosen[0].weight) && std::isnan(routed.chosen[1].weight));
  }
}

RC_GTEST_PROP(RouterProperty, ChoosesTheLargestInOrder, ()) {
  const int experts = *rc::gen::inRange(1, 130);
  const RouterConfig config{.experts = experts,
                            .top_k = *rc::gen::inRange(1, std::min(experts, 16) + 1)};
  const auto small = *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(experts),
                                                           rc::gen::inRange(-9, 10));
  const std::vector<float> logits(small.begin(), small.end());
  const Routed routed = RouteLogits(config, logits);
  std::vector<int> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::ranges::stable_sort(order, [&](int a, int b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(config.top_k));
  RC_ASSERT(Experts(routed) == order);
  double sum = 0;
  for (const RoutedExpert& each : routed.chosen) sum += static_cast<double>(each.weight);
  RC_ASSERT(std::abs(sum - 1) < 1e-5);
}

}  // namespace
}  // namespace folio
