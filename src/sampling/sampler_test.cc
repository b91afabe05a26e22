#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sampling/counter_rng.h"

namespace folio {
namespace {

using Ids = std::vector<std::int32_t>;
using Logits = std::vector<float>;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::int32_t DrawToken(const SamplingParams& params, const Logits& logits, std::int64_t position,
                       const Ids& history = {}) {
  Sampler sampler(params);
  const Result<Sample> sample = sampler.Draw(logits, history, position);
  EXPECT_TRUE(sample.has_value());
  return sample ? sample->token : -1;
}

std::map<std::int32_t, int> Histogram(const SamplingParams& params, const Logits& logits,
                                      int draws) {
  Sampler sampler(params);
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sampler.Draw(logits, {}, i).value().token];
  return counts;
}

TEST(SamplerTest, GreedyTakesTheBestAndTheLowerIdOfATie) {
  const SamplingParams greedy{.temperature = 0.0F};
  EXPECT_EQ(DrawToken(greedy, {0.0F, 3.0F, 3.0F, -1.0F}, 0), 1);
}

TEST(SamplerTest, FrequenciesFollowTheDistribution) {
  const Logits logits = {0.0F, 1.0F, 2.0F};
  const auto counts = Histogram({.seed = 3}, logits, 60000);
  const double sum = 1.0 + std::exp(1.0) + std::exp(2.0);
  for (int token = 0; token < 3; ++token) {
    EXPECT_NEAR(counts.at(token) / 60000.0, std::exp(token) / sum, 0.01) << token;
  }
}

TEST(SamplerTest, TemperatureSharpensTheDistribution) {
  const auto counts = Histogram({.temperature = 0.5F, .seed = 3}, {0.0F, 1.0F}, 60000);
  EXPECT_NEAR(counts.at(1) / 60000.0, 1.0 / (1.0 + std::exp(-2.0)), 0.01);
}

TEST(SamplerTest, TopKKeepsTheKBest) {
  const auto counts = Histogram({.top_k = 2}, {1.0F, 1.1F, 1.2F, 1.3F}, 2000);
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_TRUE(counts.contains(2) && counts.contains(3));
}

TEST(SamplerTest, TopKOfATieKeepsTheLowerIds) {
  const auto counts = Histogram({.top_k = 2}, {1.0F, 1.0F, 1.0F, 1.0F}, 2000);
  EXPECT_TRUE(counts.size() == 2 && counts.contains(0) && counts.contains(1));
}

TEST(SamplerTest, TopPKeepsTheSmallestSetThatReachesIt) {
  // Probabilities 0.5, 0.3, 0.2.
  const Logits logits = {std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  EXPECT_EQ(Histogram({.top_p = 0.45F}, logits, 1000).size(), 1U);
  EXPECT_EQ(Histogram({.top_p = 0.75F}, logits, 1000).size(), 2U);
  EXPECT_EQ(Histogram({.top_p = 0.85F}, logits, 1000).size(), 3U);
}

TEST(SamplerTest, TopPIsAShareOfWhatTopKLeft) {
  // After top-k 2 the shares are 0.625 and 0.375.
  const Logits logits = {std::log(0.2F), std::log(0.5F), std::log(0.3F)};
  EXPECT_EQ(Histogram({.top_k = 2, .top_p = 0.6F}, logits, 1000).size(), 1U);
}

TEST(SamplerTest, TopPReachesFarIntoAFlatDistribution) {
  const Logits logits(5000, 0.25F);
  SamplingParams params{.top_p = 0.9F};
  Sampler sampler(params);
  std::int32_t highest = 0;
  for (int i = 0; i < 3000; ++i) highest = std::max(highest, sampler.Draw(logits, {}, i)->token);
  EXPECT_LT(highest, 4501);
  EXPECT_GT(highest, 4400);
}

TEST(SamplerTest, MinPIsRelativeToTheBest) {
  const Logits logits = {0.0F, std::log(0.5F), std::log(0.1F)};
  EXPECT_EQ(Histogram({.min_p = 0.4F}, logits, 1000).size(), 2U);
  EXPECT_EQ(Histogram({.top_k = 3, .min_p = 0.4F}, logits, 1000).size(), 2U);
}

TEST(SamplerTest, RepeatPenaltyDividesPositiveAndMultipliesNegativeLogits) {
  const SamplingParams params{.temperature = 0.0F, .repeat_penalty = 2.0F};
  EXPECT_EQ(DrawToken(params, {3.0F, 2.0F}, 0, {0}), 1);    // 1.5 < 2
  EXPECT_EQ(DrawToken(params, {-1.0F, -1.5F}, 0, {0}), 1);  // -2 < -1.5
  EXPECT_EQ(DrawToken(params, {5.0F, 2.0F}, 0, {0, 0, 0}), 0) << "repeated ids count once";
}

TEST(SamplerTest, PresenceCountsOnceAndFrequencyEachTime) {
  const SamplingParams presence{.temperature = 0.0F, .presence_penalty = 0.5F};
  EXPECT_EQ(DrawToken(presence, {2.0F, 1.4F}, 0, {0, 0, 0}), 0);
  EXPECT_EQ(DrawToken(presence, {1.8F, 1.4F}, 0, {0}), 1);
  const SamplingParams frequency{.temperature = 0.0F, .frequency_penalty = 0.5F};
  EXPECT_EQ(DrawToken(frequency, {2.0F, 1.4F}, 0, {0}), 0);
  EXPECT_EQ(DrawToken(frequency, {2.0F, 1.4F}, 0, {0, 0}), 1);
}

TEST(SamplerTest, ADrawLeavesNoPenaltyBehind) {
  Sampler sampler({.temperature = 0.0F, .presence_penalty = 2.0F});
  EXPECT_EQ(sampler.Draw(Logits{1.0F, 0.0F}, Ids{0}, 0)->token, 1);
  EXPECT_EQ(sampler.Draw(Logits{1.0F, 0.0F}, Ids{}, 1)->token, 0);
}

TEST(SamplerTest, IdsOutsideTheVocabularyAreIgnoredByPenalties) {
  const SamplingParams params{.temperature = 0.0F, .presence_penalty = 2.0F};
  EXPECT_EQ(DrawToken(params, {1.0F, 0.0F}, 0, {-1, 2, 1 << 30}), 0);
}

TEST(SamplerTest, LogprobsAreOfTheModelsOwnDistribution) {
  const Logits logits = {0.0F, 1.0F, 2.0F};
  const double log_sum = std::log(1.0 + std::exp(1.0) + std::exp(2.0));
  Sampler sampler(
      {.temperature = 0.0F, .presence_penalty = 2.0F, .logprobs = std::optional<int>(2)});
  const Sample sample = sampler.Draw(logits, Ids{2}, 0).value();
  EXPECT_EQ(sample.token, 1);
  EXPECT_NEAR(sample.logprob, 1.0 - log_sum, 1e-6);
  ASSERT_EQ(sample.top.size(), 2U);
  EXPECT_EQ(sample.top[0].token, 2);
  EXPECT_NEAR(sample.top[0].logprob, 2.0 - log_sum, 1e-6);
  EXPECT_EQ(sample.top[1].token, 1);
}

TEST(SamplerTest, ZeroLogprobsStillReportTheDrawnToken) {
  Sampler sampler({.temperature = 0.0F, .logprobs = std::optional<int>(0)});
  const Sample sample = sampler.Draw(Logits{0.0F, 0.0F}, Ids{}, 0).value();
  EXPECT_NEAR(sample.logprob, std::log(0.5), 1e-6);
  EXPECT_TRUE(sample.top.empty());
}

// Bits of the tokens that `logits` has no -infinity for: such a token can't be drawn either way.
std::vector<std::uint32_t> MaskOf(const Logits& logits) {
  std::vector<std::uint32_t> mask((logits.size() + 31) / 32);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -kInf) mask[i / 32] |= 1U << (i % 32);
  }
  return mask;
}

TEST(SamplerTest, WhatAMaskForbidsIsNeverDrawn) {
  const std::vector<std::uint32_t> mask = {0b101};
  Sampler greedy({.temperature = 0.0F});
  EXPECT_EQ(greedy.Draw(Logits{1.0F, 3.0F, 2.0F}, {}, 0, mask)->token, 2);
  Sampler hot({.temperature = 5.0F, .seed = 3});
  for (int i = 0; i < 2000; ++i) EXPECT_NE(hot.Draw(Logits{0, 9, 0}, {}, i, mask)->token, 1);
}

TEST(SamplerTest, WhatAMaskDoesNotReachIsForbidden) {
  Logits logits(70, 5.0F);
  logits[3] = 0.0F;
  Sampler greedy({.temperature = 0.0F});
  EXPECT_EQ(greedy.Draw(logits, {}, 0, std::vector<std::uint32_t>{1U << 3, 0})->token, 3);
  EXPECT_FALSE(greedy.Draw(logits, {}, 0, std::vector<std::uint32_t>{0}).has_value());
}

TEST(SamplerTest, AMaskLeavesTheModelsOwnLogprobs) {
  const Logits logits = {1.0F, 3.0F, 2.0F};
  for (const float penalty : {1.0F, 1.5F}) {
    const SamplingParams params{.temperature = 0.0F, .repeat_penalty = penalty, .logprobs = 2};
    Sampler sampler(params);
    const auto masked = sampler.Draw(logits, Ids{1}, 0, std::vector<std::uint32_t>{0b001});
    ASSERT_TRUE(masked.has_value());
    EXPECT_EQ(masked->token, 0);
    const double sum = std::exp(1.0) + std::exp(3.0) + std::exp(2.0);
    EXPECT_NEAR(masked->logprob, 1.0 - std::log(sum), 1e-5);
    ASSERT_EQ(masked->top.size(), 2U);
    EXPECT_EQ(masked->top[0].token, 1);
    EXPECT_EQ(masked->top[1].token, 2);
  }
}

TEST(SamplerTest, AForbiddenLogitThatIsNoNumberIsStillAnError) {
  Sampler sampler({});
  EXPECT_FALSE(sampler.Draw(Logits{1.0F, NAN}, {}, 0, std::vector<std::uint32_t>{1}).has_value());
}

// A mask is the same as impossible logits, whatever the options.
RC_GTEST_PROP(SamplerTest, AMaskIsTheSameAsImpossibleLogits, (std::uint64_t seed)) {
  Logits logits(*rc::gen::inRange<std::size_t>(1, 300));
  Logits left(logits.size(), -kInf);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>(8 * UniformAt(seed, 1, static_cast<std::int64_t>(i)));
    if (UniformAt(seed, 2, static_cast<std::int64_t>(i)) < 0.3) left[i] = logits[i];
  }
  left[0] = logits[0];
  SamplingParams params{.seed = seed};
  params.top_k = *rc::gen::inRange(0, 6);
  params.top_p = *rc::gen::elementOf(std::vector<float>{1.0F, 0.913F});
  params.min_p = *rc::gen::elementOf(std::vector<float>{0.0F, 0.0517F});
  params.presence_penalty = *rc::gen::elementOf(std::vector<float>{0.0F, 0.5F});
  const Ids history = {0, 1};
  Sampler sampler(params);
  const auto masked = sampler.Draw(logits, history, 5, MaskOf(left));
  const auto impossible = sampler.Draw(left, history, 5);
  RC_ASSERT(masked && impossible);
  RC_ASSERT(masked->token == impossible->token);
}

TEST(SamplerTest, BrokenLogitsAreAnErrorThatNamesTheToken) {
  Sampler sampler({});
  const Result<Sample> nan = sampler.Draw(Logits{0.0F, std::nanf("")}, Ids{}, 0);
  ASSERT_FALSE(nan.has_value());
  EXPECT_EQ(nan.error().kind, ErrorKind::kRuntime);
  EXPECT_NE(nan.error().Message().find("token 1"), std::string::npos);
  EXPECT_FALSE(sampler.Draw(Logits{kInf, 0.0F}, Ids{}, 0).has_value());
  EXPECT_FALSE(sampler.Draw(Logits{-kInf, -kInf}, Ids{}, 0).has_value());
  EXPECT_FALSE(sampler.Draw(Logits{}, Ids{}, 0).has_value());
}

TEST(SamplerTest, ImpossibleTokensAreNeverDrawn) {
  const auto counts = Histogram({.temperature = 100.0F}, {-kInf, 0.0F, -kInf, 0.0F}, 1000);
  EXPECT_FALSE(counts.contains(0) || counts.contains(2));
}

TEST(SamplerTest, ChoicesDifferAndSeedsRepeat) {
  const Logits logits(1000, 0.0F);
  Sampler first({.seed = 11}, 0);
  Sampler second({.seed = 11}, 1);
  Sampler again({.seed = 11}, 0);
  EXPECT_NE(first.Draw(logits, {}, 5)->token, second.Draw(logits, {}, 5)->token);
  EXPECT_EQ(first.Draw(logits, {}, 9)->token, again.Draw(logits, {}, 9)->token);
}

// The definition of sampler.h with a full sort and nothing clever.
std::int32_t ReferenceDraw(const SamplingParams& params, const Logits& logits, double random) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (params.top_k > 0) order.resize(std::min(order.size(), std::size_t(params.top_k)));
  const double max = logits[order[0]];
  std::vector<double> weights;
  for (const std::size_t i : order)
    weights.push_back(std::exp((logits[i] - max) / params.temperature));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < weights.size() && sum < params.top_p * total) sum += weights[kept++];
  while (kept > 1 && weights[kept - 1] < params.min_p) --kept;
  weights.resize(kept);
  if (params.top_k == 0 && params.top_p >= 1.0F) {  // drawn in order of id
    std::vector<double> by_id(logits.size(), 0.0);
    for (std::size_t i = 0; i < kept; ++i) by_id[order[i]] = weights[i];
    weights = by_id;
    std::iota(order.begin(), order.end(), 0U);
  }
  const double target = random * std::accumulate(weights.begin(), weights.end(), 0.0);
  sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (sum > target) return static_cast<std::int32_t>(order[i]);
  }
  return -1;
}

void CheckAgainstReference(const Logits& logits, std::uint64_t seed) {
  SamplingParams params{.seed = seed};
  params.temperature = 0.5F * static_cast<float>(*rc::gen::inRange(1, 5));
  params.top_k = *rc::gen::inRange(0, 6);
  params.top_p = *rc::gen::elementOf(std::vector<float>{1.0F, 0.913F, 0.517F, 0.131F});
  params.min_p = *rc::gen::elementOf(std::vector<float>{0.0F, 0.0517F, 0.411F});
  const auto position = static_cast<std::int64_t>(*rc::gen::inRange(0, 1000));
  RC_ASSERT(DrawToken(params, logits, position) ==
            ReferenceDraw(params, logits, UniformAt(seed, 0, position)));
}

// Logits are quarters, so that ties are common and no threshold is met by a rounding error alone.
RC_GTEST_PROP(SamplerTest, EqualsTheDefinitionByFullSort, (std::uint64_t seed)) {
  const auto quarters =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-20, 21)));
  Logits logits;
  for (const int quarter : quarters) logits.push_back(0.25F * static_cast<float>(quarter));
  CheckAgainstReference(logits, seed);
}

RC_GTEST_PROP(SamplerTest, EqualsTheDefinitionOnLongVocabularies, (std::uint64_t seed)) {
  Logits logits(*rc::gen::inRange<std::size_t>(1, 2000));
  const float spread = *rc::gen::element(2.0F, 40.0F, 400.0F);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto random = static_cast<float>(UniformAt(seed, 1, static_cast<std::int64_t>(i)));
    logits[i] = 0.25F * std::floor(random * spread);
  }
  CheckAgainstReference(logits, seed);
}

TEST(CheckSamplingParamsTest, EachOptionIsNamedWithItsValue) {
  const auto message = [](const SamplingParams& params) {
    const Status status = CheckSamplingParams(params);
    EXPECT_FALSE(status.has_value());
    if (status) return std::string();
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
    return status.error().Message();
  };
  EXPECT_EQ(message({.temperature = -1.0F}), "temperature: -1 is not between 0 and 100");
  EXPECT_EQ(message({.temperature = std::nanf("")}).substr(0, 12), "temperature:");
  EXPECT_EQ(message({.top_k = -2}).substr(0, 6), "top-k:");
  EXPECT_EQ(message({.top_p = 1.5F}), "top-p: 1.5 is not between 0 and 1");
  EXPECT_EQ(message({.top_p = 0.0F}).substr(0, 6), "top-p:");
  EXPECT_EQ(message({.min_p = 2.0F}).substr(0, 6), "min-p:");
  EXPECT_EQ(message({.repeat_penalty = 0.0F}).substr(0, 15), "repeat-penalty:");
  EXPECT_EQ(message({.presence_penalty = 3.0F}).substr(0, 17), "presence-penalty:");
  EXPECT_EQ(message({.frequency_penalty = -3.0F}).substr(0, 18), "frequency-penalty:");
  EXPECT_EQ(message({.logprobs = std::optional<int>(-1)}).substr(0, 9), "logprobs:");
  EXPECT_TRUE(CheckSamplingParams({}).has_value());
}

}  // namespace
}  // namespace folio
