// The arithmetic of `folio lab moe`; its numbers as printed are checked end to end.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folio/lab_moe_capacity.h"
#include "folio/lab_moe_growth.h"
#include "folio/lab_moe_layer.h"
#include "folio/lab_moe_sizes.h"
#include "folio/lab_moe_training.h"

namespace folio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<RoutedExpert> RoutedTo(const std::vector<int>& experts) {
  std::vector<RoutedExpert> routed;
  for (const int expert : experts) routed.push_back({.expert = expert, .weight = 1});
  return routed;
}

TEST(ExpertCapacity, IsTheEvenShareTimesTheFactorRoundedUp) {
  EXPECT_EQ(ExpertCapacity(1, 8, 4), 2);
  EXPECT_EQ(ExpertCapacity(1, 6, 4), 2);
  EXPECT_EQ(ExpertCapacity(1.25, 6, 4), 2);
  EXPECT_EQ(ExpertCapacity(1.5, 6, 4), 3);
  EXPECT_EQ(ExpertCapacity(1, 1, 896), 1);
}

TEST(ExpertCapacity, AFactorThatBinaryRoundsUpTakesNoTokenMore) {
  EXPECT_EQ(ExpertCapacity(1.1, 10, 1), 11);
  EXPECT_EQ(ExpertCapacity(1.1, 100, 10), 11);
}

TEST(WithinCapacity, LaterTokensOfAFullExpertAreDropped) {
  const std::vector<RoutedExpert> chosen = RoutedTo({1, 0, 3, 1, 0, 1});
  EXPECT_THAT(WithinCapacity(chosen, 4, 2), ElementsAre(true, true, true, true, true, false));
  EXPECT_THAT(WithinCapacity(chosen, 4, 1), ElementsAre(true, true, true, false, false, false));
  EXPECT_THAT(WithinCapacity(chosen, 4, 3), ::testing::Each(true));
}

TEST(MoeSizes, MixtralAndQwenHaveTheirPublishedParameters) {
  const ParameterCount mixtral =
      ModelParameters({.layer = {.hidden = 4096, .expert_ffn = 14336, .experts = 8, .top_k = 2},
                       .layers = 32,
                       .query_heads = 32,
                       .kv_heads = 8,
                       .head_dim = 128,
                       .vocab = 32000});
  EXPECT_EQ(mixtral.total, 46'702'792'704);
  EXPECT_EQ(mixtral.active, 12'879'925'248);
  const ParameterCount qwen =
      ModelParameters({.layer = {.hidden = 2048, .expert_ffn = 768, .experts = 128, .top_k = 8},
                       .layers = 48,
                       .query_heads = 32,
                       .kv_heads = 4,
                       .head_dim = 128,
                       .vocab = 151936,
                       .qk_norm = true});
  EXPECT_EQ(qwen.total, 30'532'122'624);
  EXPECT_EQ(qwen.active, 3'353'032'704);
}

TEST(TinyExperts, AnExpertAloneIsItsNetworkByHand) {
  constexpr std::int64_t kHidden = 3;
  constexpr std::int64_t kFfn = 4;
  const std::vector<float> router(2 * kHidden, 0.5F);
  const Result<TinyExperts> experts = TinyExperts::Create(router, kHidden, kFfn, 5);
  ASSERT_TRUE(experts.has_value());
  ThreadPool pool(1);
  const auto layer =
      LabMoe::Create(kHidden, kFfn, {.experts = 1, .top_k = 1}, 1, Isa::kScalar, pool);
  ASSERT_TRUE(layer.has_value());
  const std::vector<float> x = {1, -2, 0.5F};
  const std::vector<float> out = (*layer)->Output(experts->Alone(1), x);
  // The second expert's matrices are the seed's streams 3 to 5.
  const std::vector<float> gate = NormalValues(kFfn * kHidden, 5, 3);
  const std::vector<float> up = NormalValues(kFfn * kHidden, 5, 4);
  const std::vector<float> down = NormalValues(kHidden * kFfn, 5, 5);
  for (std::size_t n = 0; n < kHidden; ++n) {
    double sum = 0;
    for (std::size_t f = 0; f < kFfn; ++f) {
      double g = 0;
      double u = 0;
      for (std::size_t i = 0; i < kHidden; ++i) {
        g += double{gate[f * kHidden + i]} * double{x[i]};
        u += double{up[f * kHidden + i]} * double{x[i]};
      }
      sum += double{down[n * kFfn + f]} * u * g / (1 + std::exp(-g));
    }
    EXPECT_NEAR(out[n], sum, 1e-5);
  }
}

MoeSetting SmallSetting(GgmlType type) {
  return {.isa = Isa::kScalar, .hidden = 64, .expert_ffn = 64, .type = type};
}

TEST(MoeGrowth, ATokenReadsTheRouterAndEightExperts) {
  const std::vector<GrowthPoint> points = CountGrowth(SmallSetting(GgmlType::kQ4_0));
  ASSERT_EQ(points.size(), 6);
  for (const GrowthPoint& point : points) {
    const auto experts = static_cast<std::uint64_t>(point.sizes.experts);
    constexpr std::uint64_t kExpert = 3 * 64 * 64;
    EXPECT_EQ(point.parameters.total, experts * (kExpert + 64));
    EXPECT_EQ(point.parameters.active, 8 * kExpert + experts * 64);
    // Q4_0 takes 18 bytes for 32 weights; the router's rows are BF16, at least a strip of 16.
    const std::uint64_t router = std::max<std::uint64_t>(experts, 16) * 64 * 2;
    EXPECT_EQ(point.router_bytes, router);
    EXPECT_EQ(point.token_bytes, router + 8 * kExpert * 18 / 32);
    EXPECT_EQ(point.total_bytes, router + experts * kExpert * 18 / 32);
  }
}

TEST(ExpertStore, LayersOfOneSizeShareNoExpert) {
  const Result<ExpertStore> store = ExpertStore::Create(SmallSetting(GgmlType::kQ8_0));
  ASSERT_TRUE(store.has_value());
  for (const int experts : kGrowthExperts) {
    std::vector<const std::byte*> seen;
    for (int layer = 0; layer < store->Layers(experts); ++layer) {
      const MoeWeights weights = store->Layer(experts, layer);
      ASSERT_EQ(weights.experts.size(), static_cast<std::size_t>(experts));
      EXPECT_EQ(weights.router.n, experts);
      for (const FfnWeights& expert : weights.experts) seen.push_back(expert.gate.data);
    }
    std::ranges::sort(seen);
    EXPECT_TRUE(std::ranges::adjacent_find(seen) == seen.end()) << experts;
  }
}

TEST(ExpertStore, EveryTypesRandomWeightsGiveNumbers) {
  ThreadPool pool(1);
  for (const char* name : {"Q4_0", "Q8_0", "MXFP4", "BF16", "F32"}) {
    const Result<GgmlType> type = GrowthType(name);
    ASSERT_TRUE(type.has_value()) << name;
    const Result<ExpertStore> store = ExpertStore::Create(SmallSetting(*type));
    ASSERT_TRUE(store.has_value()) << name;
    const auto layer = LabMoe::Create(64, 64, {.experts = 896, .top_k = 8}, 1, Isa::kScalar, pool);
    ASSERT_TRUE(layer.has_value()) << name;
    double size = 0;
    for (const float y : (*layer)->Output(store->Layer(896, 0), NormalValues(64, 0, 1)))
      size += std::abs(double{y});
    EXPECT_TRUE(std::isfinite(size) && size > 0 && size < 1e4) << name << " " << size;
  }
}

TEST(ExpertStore, WhatMemoryCannotHoldIsRefused) {
  const Result<ExpertStore> store =
      ExpertStore::Create({.hidden = 16384, .expert_ffn = 65536, .type = GgmlType::kF32});
  ASSERT_FALSE(store.has_value());
  EXPECT_THAT(store.error().Message(), HasSubstr("--hidden"));
}

TEST(GrowthType, AnUnknownNameIsRefusedWithThoseThatThereAre) {
  const Result<GgmlType> type = GrowthType("Q2_K");
  ASSERT_FALSE(type.has_value());
  EXPECT_THAT(type.error().Message(), HasSubstr("Q2_K"));
  EXPECT_THAT(type.error().Message(), HasSubstr("MXFP4"));
}

TrainingModel NoGradient() {
  TrainingModel gradient = MakeTrainingModel(0);
  std::ranges::fill(gradient.router, 0.0);
  std::ranges::fill(gradient.experts, 0.0);
  return gradient;
}

// The derivative by values[i], from a little less and a little more of it.
double Slope(const TrainingModel& model, std::vector<double> TrainingModel::* values, std::size_t i,
             const TrainingBatch& batch, double alpha) {
  constexpr double kStep = 1e-5;
  TrainingModel less = model;
  TrainingModel more = model;
  (less.*values)[i] -= kStep;
  (more.*values)[i] += kStep;
  const TrainingLoss below = TrainingStep(less, batch, alpha, nullptr);
  const TrainingLoss above = TrainingStep(more, batch, alpha, nullptr);
  EXPECT_EQ(below.fractions, above.fractions);  // no token changes its expert on the way
  return (above.task + alpha * above.balance - below.task - alpha * below.balance) / (2 * kStep);
}

TEST(TrainingStep, DerivativesAreTheSlopesOfTheLoss) {
  constexpr double kAlpha = 0.5;
  TrainingModel model = MakeTrainingModel(3);
  for (double& value : model.router) value *= 10;  // far from ties
  const TrainingBatch batch = DrawTrainingBatch(MakeTrainingTask(3), 0, 16);
  TrainingModel gradient = NoGradient();
  TrainingStep(model, batch, kAlpha, &gradient);
  for (std::size_t i = 0; i < model.router.size(); ++i)
    EXPECT_NEAR(Slope(model, &TrainingModel::router, i, batch, kAlpha), gradient.router[i], 1e-7);
  for (std::size_t i = 0; i < model.experts.size(); ++i)
    EXPECT_NEAR(Slope(model, &TrainingModel::experts, i, batch, kAlpha), gradient.experts[i], 1e-7);
}

TEST(TrainMoe, TheBalancingLossKeepsExpertsFromCollapse) {
  const std::vector<TrainingPoint> without = TrainMoe(2, 0, {0, 100, 2000});
  const std::vector<TrainingPoint> with = TrainMoe(2, 0.1, {0, 100, 2000});
  ASSERT_EQ(without.size(), 3);
  EXPECT_EQ(without[0].loss.fractions, with[0].loss.fractions);
  EXPECT_LT(std::ranges::max(without[0].loss.fractions), 0.5);
  EXPECT_GT(std::ranges::max(without[1].loss.fractions), 0.9);
  EXPECT_GT(without[2].loss.balance, 2);
  EXPECT_LT(with[2].loss.balance, 1.1);
  EXPECT_LT(with[2].loss.task, 0.6 * without[2].loss.task);
}

}  // namespace
}  // namespace folio
