#include "plan/traffic_plan.h"

#include <cmath>

#include <gtest/gtest.h>

#include "plan/hosted_cost.h"

namespace folio {
namespace {

TEST(TrafficPlanTest, OneTokenMeetsItsExpertsAndManyMeetNearlyAll) {
  EXPECT_DOUBLE_EQ(ExpectedDistinctExperts(8, 2, 1), 2);
  EXPECT_DOUBLE_EQ(ExpectedDistinctExperts(384, 6, 1), 6);
  EXPECT_NEAR(ExpectedDistinctExperts(896, 16, 32), 896 * (1 - std::pow(1 - 16.0 / 896, 32)), 1e-9);
  EXPECT_NEAR(ExpectedDistinctExperts(8, 2, 100), 8, 1e-6);
  EXPECT_DOUBLE_EQ(ExpectedDistinctExperts(0, 0, 5), 0);
  for (int batch = 1; batch < 50; ++batch)
    EXPECT_GT(ExpectedDistinctExperts(128, 8, batch + 1), ExpectedDistinctExperts(128, 8, batch));
}

ModelShape TwoLayers() {
  ModelShape shape;
  shape.experts = 4;
  shape.top_k = 1;
  shape.layers.assign(2, {.query_heads = 4, .kv = {.kv_heads = 2, .head_dim = 32}});
  shape.layers[1].kv.window = 10;
  shape.layers.push_back({.query_heads = 4, .kv = {.head_dim = 32}, .reuses = 0});
  shape.layers.push_back({.recurrent_elements = 5});
  shape.parameters = ParameterShape{
      .embedding = 1000, .output = 1000, .layers = 300, .expert = 50, .experts = 4, .top_k = 1};
  return shape;
}

// 2 x 2 heads x 32 x 2 bytes a token and layer; the third layer reads the first one's again, the
// second ten positions only; a state of 5 floats is read and written.
TEST(TrafficPlanTest, CountsWhatAStepReads) {
  const ModelShape shape = TwoLayers();
  const WeightShape weights = {.all = 9000, .always = 2600, .experts = 400};
  const TrafficPlan one = PlanTraffic(
      shape, weights, {.context = 100, .codings = KvCodingsOf(KvType::kBf16)}, std::nullopt);
  EXPECT_DOUBLE_EQ(one.weight_bytes, 2600 + 100);
  EXPECT_DOUBLE_EQ(one.kv_bytes, 256.0 * (100 + 10 + 100));
  EXPECT_DOUBLE_EQ(one.state_bytes, 2 * 5 * 4);
  // Products with 1000 + 300 + 50 weights, and 2 x 4 heads x (32 + 32) a position.
  EXPECT_DOUBLE_EQ(one.operations, 2.0 * 1350 + 512.0 * 210);
  EXPECT_FALSE(one.tokens_per_s.has_value());

  const TrafficPlan four = PlanTraffic(
      shape, weights, {.context = 100, .batch = 4, .codings = KvCodingsOf(KvType::kBf16)},
      MachineSpeed{.bytes_per_s = 1e6, .operations_per_s = 1e6});
  EXPECT_DOUBLE_EQ(four.kv_bytes, 4 * one.kv_bytes);
  EXPECT_NEAR(four.weight_bytes, 2600 + 400 * (1 - std::pow(0.75, 4)), 1e-9);
  EXPECT_LT(four.bytes_per_token(), one.bytes_per_token());
  // Computing takes longer here than reading.
  ASSERT_TRUE(four.tokens_per_s.has_value());
  EXPECT_GT(four.compute_seconds, four.read_seconds);
  EXPECT_DOUBLE_EQ(*four.tokens_per_s, 4 / four.compute_seconds);
}

TEST(HostedCostTest, AKeptPrefixIsWrittenOnceAndReadByTheRest) {
  const HostedTraffic traffic = {.requests = 10, .prompt_tokens = 1000, .shared_prefix = 900};
  const auto cost = PriceHosted(traffic, {});
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->writes, 1);
  EXPECT_EQ(cost->reads, 9);
  EXPECT_DOUBLE_EQ(cost->uncached_tokens, 10'000);
  EXPECT_DOUBLE_EQ(cost->cached_tokens(), 900 * 1.25 + 9 * 900 * 0.1 + 10 * 100);
}

TEST(HostedCostTest, AfterItsTimeEveryRequestWritesAgain) {
  HostedTraffic traffic = {
      .requests = 10, .prompt_tokens = 1000, .shared_prefix = 900, .interval_seconds = 300};
  EXPECT_EQ(PriceHosted(traffic, {})->writes, 1);
  traffic.interval_seconds = 300.5;
  const auto cost = PriceHosted(traffic, {});
  EXPECT_EQ(cost->writes, 10);
  EXPECT_GT(cost->cached_tokens(), cost->uncached_tokens);
  EXPECT_EQ(PriceHosted(traffic, {.ttl_seconds = 3600})->writes, 1);
}

TEST(HostedCostTest, WhatMakesNoSenseIsRefusedByItsOption) {
  const HostedTraffic good = {.requests = 1, .prompt_tokens = 10, .shared_prefix = 5};
  EXPECT_NE(PriceHosted(good, {.write_factor = -1}).error().Message().find("--write-factor"),
            std::string::npos);
  EXPECT_NE(PriceHosted(good, {.read_factor = NAN}).error().Message().find("--read-factor"),
            std::string::npos);
  HostedTraffic bad = good;
  bad.shared_prefix = 11;
  EXPECT_NE(PriceHosted(bad, {}).error().Message().find("--shared-prefix"), std::string::npos);
  bad = good;
  bad.requests = 0;
  EXPECT_NE(PriceHosted(bad, {}).error().Message().find("--requests"), std::string::npos);
}

}  // namespace
}  // namespace folio
