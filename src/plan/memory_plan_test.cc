// What of a model is in memory, for every budget.
#include "plan/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/block_pool.h"
#include "quant/kv_type.h"

namespace folio {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSlotBytes = 1 << 20;

class ExpertsPlanTest : public testing::Test {
 protected:
  ExpertsPlanTest() {
    KvSpec spec;
    spec.layers.resize(4, {.kv_heads = 2, .head_dim = 64, .window = 0});
    layout_ = LayOutKvBlock(spec, KvType::kBf16, 16).value();
  }

  // Experts of 100 MiB beside 10 MiB of other weights, 1 MiB of program and a workspace of 256
  // bytes a token.
  MemoryRequest Request(std::uint64_t mib) const {
    return {.memory = mib << 20,
            .context = 32768,
            .max_batch_tokens = 512,
            .weights_bytes = 110 * kSlotBytes,
            .experts = {.experts = 100,
                        .least_slots = 8,
                        .dense_bytes = 10 * kSlotBytes,
                        .bytes_without_slots = 1000,
                        .slot_bytes = kSlotBytes},
            .program_bytes = 1 << 20,
            .workspace_bytes = [](std::int64_t context) {
              return static_cast<std::uint64_t>(context) * 256;
            }};
  }

  KvLayout layout_;
};

TEST_F(ExpertsPlanTest, WhatFitsIsAllInMemory) {
  const auto plan = PlanMemory(Request(500), layout_);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->expert_slots, 0);
  EXPECT_EQ(plan->experts_bytes, 0U);
  EXPECT_EQ(plan->weights_bytes, 110 * kSlotBytes);
  EXPECT_EQ(plan->context, 32768);
  EXPECT_EQ(plan->num_blocks, 32768 / 16);
  EXPECT_EQ(plan->kv_bytes, static_cast<std::uint64_t>(plan->num_blocks) * layout_.block_bytes);
  EXPECT_EQ(plan->kv_index_bytes, BlockPool::MetadataBytes(plan->num_blocks));
  EXPECT_EQ(plan->workspace_bytes, 32768U * 256);
  EXPECT_EQ(plan->program_bytes, 1U << 20);
}

TEST_F(ExpertsPlanTest, WhatIsKeptBesideBlocksIsPartOfTheirIndex) {
  MemoryRequest request = Request(500);
  request.fixed_index_bytes = 12'345;
  const auto plan = PlanMemory(request, layout_);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->kv_index_bytes, 12'345 + BlockPool::MetadataBytes(plan->num_blocks));
}

TEST_F(ExpertsPlanTest, AShorterContextComesBeforeFewerExperts) {
  const auto plan = PlanMemory(Request(130), layout_);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->expert_slots, 0);
  EXPECT_LT(plan->context, 32768);
  EXPECT_GE(plan->context, 4096);
}

TEST_F(ExpertsPlanTest, ExpertsAreLeftOutBeforeTheContextIsShort) {
  const auto plan = PlanMemory(Request(114), layout_);
  ASSERT_TRUE(plan.has_value());
  EXPECT_GE(plan->context, 4096);
  EXPECT_GE(plan->expert_slots, 50);
  EXPECT_LT(plan->expert_slots, 100);
  EXPECT_EQ(plan->weights_bytes, 10 * kSlotBytes);
}

TEST_F(ExpertsPlanTest, EveryBudgetIsKeptAndWhatIsLeftOfItIsLessThanAnExpert) {
  std::int64_t fewer = 8;
  for (std::uint64_t mib = 20; mib < 115; mib += 3) {
    const auto plan = PlanMemory(Request(mib), layout_);
    ASSERT_TRUE(plan.has_value()) << mib << ": " << plan.error().Message();
    ASSERT_GT(plan->expert_slots, 0) << mib;
    EXPECT_LE(plan->total_bytes(), mib << 20);
    EXPECT_LT((mib << 20) - plan->total_bytes(), kSlotBytes);
    EXPECT_EQ(plan->experts_bytes,
              1000 + static_cast<std::uint64_t>(plan->expert_slots) * kSlotBytes);
    // A longer context may take from them, but never more than half of all.
    EXPECT_GE(plan->expert_slots, plan->context == 4096 ? fewer : 8);
    fewer = plan->context == 4096 ? plan->expert_slots : 8;
  }
}

TEST_F(ExpertsPlanTest, AGivenContextStaysAsItIs) {
  MemoryRequest request = Request(114);
  request.context_is_given = true;
  const auto plan = PlanMemory(request, layout_);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->context, 32768);
  EXPECT_GE(plan->expert_slots, 8);
}

TEST_F(ExpertsPlanTest, WithRoomForFewerThanATokenNeedsItIsRefusedWithNumbers) {
  const auto plan = PlanMemory(Request(18), layout_);
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(
      plan.error().Message(),
      testing::AllOf(HasSubstr("18874368 bytes are too few"), HasSubstr("weights need 10485760"),
                     HasSubstr("experts, 8 of 100, " + std::to_string(1000 + 8 * kSlotBytes)),
                     HasSubstr(" together")));
}

TEST_F(ExpertsPlanTest, SlotsThatWereAskedForAreWhatThereIs) {
  MemoryRequest request = Request(500);
  request.experts.slots = 3;
  const auto plan = PlanMemory(request, layout_);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->expert_slots, 3);
}

}  // namespace
}  // namespace folio
