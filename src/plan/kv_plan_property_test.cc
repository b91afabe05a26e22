// What holds of every plan, whatever the model.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <memory>
#include <vector>

#include "plan/kv_plan.h"
#include "plan/planner.h"

namespace folio {
namespace {

struct Case {
  ModelShape shape;
  KvQuestion question;
};

LayerShape ALayer() {
  LayerShape layer;
  layer.query_heads = 8;
  if (*rc::gen::weightedElement<bool>({{4, true}, {1, false}})) {
    layer.kv = {.kv_heads = *rc::gen::element(1, 2, 4, 8),
                .head_dim = 32 * *rc::gen::inRange(1, 9),
                .window = *rc::gen::element<std::int64_t>(0, 0, 7, 24, 128, 1000)};
  } else {
    layer.recurrent_elements = *rc::gen::inRange(1, 5000);
  }
  return layer;
}

Case ACase() {
  Case one;
  const int layers = *rc::gen::inRange(1, 12);
  for (int i = 0; i < layers; ++i) one.shape.layers.push_back(ALayer());
  one.shape.hidden = 64;
  one.shape.ffn = 64;
  one.shape.vocab = 300;
  one.shape.query_heads = 8;
  one.shape.weights = WeightShape{.all = 12'345};
  const KvCoding coding = *KvCodingFromName(*rc::gen::element("f32", "f16", "q8_0", "q4_0"));
  one.question = {.context = *rc::gen::inRange(1, 5000),
                  .users = *rc::gen::inRange(1, 50),
                  .chunk = *rc::gen::element<std::int64_t>(1, 16, 512),
                  .block_size = 16 * *rc::gen::inRange(1, 5),
                  .codings = {coding, *KvCodingFromName("bf16")}};
  one.question.shared_prefix = *rc::gen::inRange<std::int64_t>(0, one.question.context + 1);
  return one;
}

KvPlan PlanOf(const ModelShape& shape, const KvQuestion& question) {
  const Result<KvPlan> plan = PlanKv(shape, question);
  RC_ASSERT(plan.has_value());
  return *plan;
}

TEST(KvPlanPropertyTest, MoreContextUsersOrLayersNeverTakeLess) {
  EXPECT_TRUE(rc::check([] {
    const Case one = ACase();
    const KvPlan plan = PlanOf(one.shape, one.question);
    KvQuestion longer = one.question;
    longer.context += *rc::gen::inRange(1, 3000);
    RC_ASSERT(PlanOf(one.shape, longer).bytes >= plan.bytes);
    KvQuestion more = one.question;
    more.users += *rc::gen::inRange(1, 40);
    RC_ASSERT(PlanOf(one.shape, more).bytes >= plan.bytes);
    RC_ASSERT(PlanOf(one.shape, more).state_bytes >= plan.state_bytes);
    KvQuestion alone = one.question;
    alone.shared_prefix = 0;
    RC_ASSERT(PlanOf(one.shape, alone).bytes >= plan.bytes);
  }));
}

// More layers of a kind: blocks of other sizes, never fewer bytes than their tokens take.
TEST(KvPlanPropertyTest, BytesAreAtLeastThoseOfTheTokensAndGrowWithLayers) {
  EXPECT_TRUE(rc::check([] {
    Case one = ACase();
    for (LayerShape& layer : one.shape.layers) layer.kv.window = 0;
    one.question.shared_prefix = 0;
    const KvPlan plan = PlanOf(one.shape, one.question);
    const auto tokens = static_cast<std::uint64_t>(one.question.context * one.question.users);
    RC_ASSERT(plan.bytes >= plan.bytes_per_token * tokens);
    Case deeper = one;
    for (const LayerShape& layer : one.shape.layers) deeper.shape.layers.push_back(layer);
    RC_ASSERT(PlanOf(deeper.shape, one.question).bytes >= plan.bytes);
    RC_ASSERT(PlanOf(deeper.shape, one.question).bytes_per_token == 2 * plan.bytes_per_token);
  }));
}

TEST(KvPlanPropertyTest, MhaAndMqaAreTheEndsOfGqa) {
  EXPECT_TRUE(rc::check([] {
    const int heads = 1 << *rc::gen::inRange(0, 6);
    const int groups = 1 << *rc::gen::inRange(0, 6);
    RC_PRE(groups <= heads);
    const auto per_token = [&](int kv_heads) {
      ModelShape shape;
      shape.layers.assign(5, {.query_heads = heads, .kv = {.kv_heads = kv_heads, .head_dim = 64}});
      return PlanOf(shape, {.context = 100, .codings = KvCodingsOf(KvType::kBf16)}).bytes_per_token;
    };
    RC_ASSERT(per_token(1) <= per_token(groups));
    RC_ASSERT(per_token(groups) <= per_token(heads));
    RC_ASSERT(per_token(heads) == static_cast<std::uint64_t>(heads) * per_token(1));
    RC_ASSERT(per_token(groups) == static_cast<std::uint64_t>(groups) * per_token(1));
  }));
}

TEST(KvPlanPropertyTest, PartsAddUp) {
  EXPECT_TRUE(rc::check([] {
    const Case one = ACase();
    const KvPlan plan = PlanOf(one.shape, one.question);
    std::int64_t blocks = 0;
    for (const KvGroupPlan& group : plan.groups) blocks += group.num_blocks;
    RC_ASSERT(blocks == plan.num_blocks);
    RC_ASSERT(plan.bytes == static_cast<std::uint64_t>(blocks) * plan.block_bytes);
    std::uint64_t per_token = 0;
    for (const KvKindPlan& kind : plan.kinds) per_token += kind.bytes_per_token;
    RC_ASSERT(per_token == plan.bytes_per_token);

    const auto planner = Planner::Create(std::make_shared<const ModelShape>(one.shape),
                                         {.kv = one.question, .memory = 1 << 30});
    RC_ASSERT(planner.has_value());
    const auto whole = planner->At(one.question.users, one.question.context);
    RC_ASSERT(whole.has_value());
    const MemoryPlan& parts = whole->parts;
    RC_ASSERT(whole->total_bytes() == parts.weights_bytes + parts.kv_bytes + parts.kv_index_bytes +
                                          parts.workspace_bytes + parts.program_bytes +
                                          whole->kv.state_bytes);
    RC_ASSERT(parts.kv_bytes == plan.bytes);
    RC_ASSERT(parts.weights_bytes == 12'345U);
  }));
}

// One user more than the most, and one token more than the longest, do not fit; those do.
TEST(KvPlanPropertyTest, TheMostThatFitsFitsAndOneMoreDoesNot) {
  EXPECT_TRUE(rc::check([] {
    Case one = ACase();
    one.question.shared_prefix = 0;
    const std::uint64_t memory = (std::uint64_t{64} << 20) + *rc::gen::inRange(0, 1 << 29);
    const auto planner = Planner::Create(std::make_shared<const ModelShape>(one.shape),
                                         {.kv = one.question, .memory = memory});
    RC_ASSERT(planner.has_value());
    const auto fits = [&](std::int64_t users, std::int64_t context) {
      const auto plan = planner->At(users, context);
      return plan && plan->total_bytes() <= memory;
    };
    const std::int64_t users = planner->MaxUsers(one.question.context);
    if (users > 0) RC_ASSERT(fits(users, one.question.context));
    RC_ASSERT(!fits(users + 1, one.question.context));
    const std::int64_t context = planner->MaxContext(one.question.users);
    if (context > 0) RC_ASSERT(fits(one.question.users, context));
    if (context < (std::int64_t{1} << 31)) RC_ASSERT(!fits(one.question.users, context + 1));
  }));
}

TEST(KvPlanOverflowTest, HugeContextsAndUsersAreCountedOrRefusedInALine) {
  ModelShape shape;
  shape.layers.assign(61, {.query_heads = 64, .kv = {.kv_heads = 8, .head_dim = 128}});
  const KvCodings codings = KvCodingsOf(KvType::kBf16);
  constexpr std::int64_t kContext = std::int64_t{1} << 31;
  const auto one = PlanKv(shape, {.context = kContext, .codings = codings});
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->bytes, 61ULL * 4096 * kContext);
  const auto many = PlanKv(shape, {.context = 1000, .users = 1'000'000, .codings = codings});
  ASSERT_TRUE(many.has_value());
  EXPECT_EQ(many->bytes, 61ULL * 4096 * 1008 * 1'000'000);
  for (const std::int64_t users :
       {std::int64_t{1'000'000'000'000}, std::numeric_limits<std::int64_t>::max()}) {
    const auto refused = PlanKv(shape, {.context = kContext, .users = users, .codings = codings});
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().Message().find("64 bits"), std::string::npos);
  }
}

TEST(KvPlanOverflowTest, QuestionsThatMakeNoSenseAreRefusedByTheirOption) {
  ModelShape shape;
  shape.layers.assign(2, {.query_heads = 1, .kv = {.kv_heads = 1, .head_dim = 32}});
  const KvCodings codings = KvCodingsOf(KvType::kBf16);
  const std::vector<std::pair<KvQuestion, std::string>> cases = {
      {{.context = 0, .codings = codings}, "--context"},
      {{.context = 10, .users = 0, .codings = codings}, "--users"},
      {{.context = 10, .shared_prefix = 11, .codings = codings}, "--shared-prefix"},
      {{.context = 10, .block_size = 17, .codings = codings}, "block size"}};
  for (const auto& [question, field] : cases) {
    const auto plan = PlanKv(shape, question);
    ASSERT_FALSE(plan.has_value()) << field;
    EXPECT_NE(plan.error().Message().find(field), std::string::npos) << plan.error().Message();
  }
}

}  // namespace
}  // namespace folio
