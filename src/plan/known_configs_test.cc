// Plans of real models are what was published of them.
#include "plan/known_configs_testing.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plan/known_models.h"
#include "plan/planner.h"

namespace folio {
namespace {

constexpr double kGib = 0x1p30;

TEST(KnownModelsTest, BytesOfATokenParametersAndStatesAreThePublishedOnes) {
  EXPECT_GE(KnownConfigs().size(), 20U);
  for (const KnownConfig& model : KnownConfigs()) {
    SCOPED_TRACE(model.name);
    const ModelShape shape = ShapeOrFail(model);
    const KvPlan plan = PlanOrFail(shape, {.context = 1000, .codings = KvCodingsOf(KvType::kBf16)});
    EXPECT_EQ(plan.bytes_per_token, model.kv_per_token);
    EXPECT_EQ(plan.state_bytes_per_sequence, model.state);
    if (model.parameters == 0) continue;
    ASSERT_TRUE(shape.parameters.has_value());
    EXPECT_EQ(shape.parameters->total(), model.parameters);
  }
}

// Every one of them, whatever its kind of attention, with all its memory.
TEST(KnownModelsTest, AllCanBePlannedWhole) {
  for (const KnownConfig& model : KnownConfigs()) {
    SCOPED_TRACE(model.name);
    const auto shape = std::make_shared<const ModelShape>(ShapeOrFail(model));
    const auto planner = Planner::Create(
        shape, {.kv = {.codings = KvCodingsOf(KvType::kQ8_0)}, .memory = std::uint64_t{1} << 42});
    ASSERT_TRUE(planner.has_value()) << planner.error().Message();
    const auto plan = planner->At(3, 5000);
    ASSERT_TRUE(plan.has_value()) << plan.error().Message();
    EXPECT_EQ(plan->weights_known, shape->parameters.has_value());
    EXPECT_EQ(plan->parts.kv_bytes, plan->kv.bytes);
    EXPECT_GT(plan->parts.workspace_bytes, 0U);
    EXPECT_GT(planner->MaxUsers(5000), 3);
  }
}

TEST(KnownModelsTest, ThoseOfTheBuiltInTableAreTheSame) {
  int compared = 0;
  for (const std::string_view name : KnownModelNames()) {
    const auto known = FindKnownModel(name);
    ASSERT_TRUE(known && *known) << name;
    for (const KnownConfig& model : KnownConfigs()) {
      if (model.name != name || (*known)->layers.empty()) continue;
      const ModelShape shape = ShapeOrFail(model);
      const KvQuestion question = {.context = 5000, .codings = KvCodingsOf(KvType::kBf16)};
      EXPECT_EQ(PlanOrFail(**known, question).bytes, PlanOrFail(shape, question).bytes) << name;
      EXPECT_EQ((*known)->parameters->total(), shape.parameters->total()) << name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 10);
  EXPECT_FALSE(FindKnownModel("no such model").has_value());
}

// The text's own example: 2 x 100,000 x 128 x 8 x 36 x 2 bytes, "13.73 GB" in fact GiB.
TEST(KnownModelsTest, Qwen3Of8BTakesWhatTheTextSays) {
  const ModelShape shape = ShapeOrFail(Model("Qwen3-8B"));
  const KvPlan plan =
      PlanOrFail(shape, {.context = 100'000, .codings = KvCodingsOf(KvType::kBf16)});
  EXPECT_EQ(plan.bytes, 14'745'600'000U);
  EXPECT_EQ(plan.num_blocks, 6250);
  EXPECT_EQ(plan.empty_slots, 0);
  EXPECT_NEAR(static_cast<double>(plan.bytes) / kGib, 13.73, 0.005);
}

TEST(KnownModelsTest, Lfm2TakesItsAttentionLayersAndItsStateOnce) {
  const ModelShape shape = ShapeOrFail(Model("LFM2-1.2B"));
  const KvPlan one = PlanOrFail(shape, {.context = 32'768, .codings = KvCodingsOf(KvType::kF16)});
  EXPECT_EQ(one.bytes, 384U << 20);
  EXPECT_EQ(one.state_bytes, 163'840U);
  const KvPlan longer =
      PlanOrFail(shape, {.context = 65'536, .codings = KvCodingsOf(KvType::kF16)});
  EXPECT_EQ(longer.bytes, 768U << 20);
  EXPECT_EQ(longer.state_bytes, 163'840U) << "a state does not grow with the context";
}

// Published as 46.7 billion of which 12.9 are used for a token, and 30.5 and 3.3, the embedding
// counted; as 116.8 and 5.13, 20.9 and 3.61, 671 and 37 without it.
TEST(KnownModelsTest, ParametersOfATokenAreThosePublished) {
  const auto billions = [](std::uint64_t number) { return static_cast<double>(number) / 1e9; };
  for (const auto& [name, active] : std::vector<std::pair<std::string, double>>{
           {"Mixtral-8x7B", 12.88}, {"Qwen3-30B-A3B", 3.35}}) {
    const ModelShape shape = ShapeOrFail(Model(name));
    EXPECT_NEAR(billions(shape.parameters.value().active()), active, 0.005) << name;
  }
  for (const auto& [name, active] : std::vector<std::pair<std::string, double>>{
           {"gpt-oss-120b", 5.13}, {"gpt-oss-20b", 3.61}, {"DeepSeek-V3", 37.1}}) {
    const ModelShape shape = ShapeOrFail(Model(name));
    EXPECT_NEAR(billions(shape.parameters.value().active_but_lookups()), active,
                active > 10 ? 0.5 : 0.005)
        << name;
  }
}

// 6.87 B and 4.46 B of text, of which the layers' own embeddings are looked up: what "E4B" and
// "E2B" leave out.
TEST(KnownModelsTest, EmbeddingsOfLayersAreNoPartOfWhatATokenReads) {
  for (const auto& [name, all, effective] : std::vector<std::tuple<std::string, double, double>>{
           {"Gemma-3n-E4B", 6.87, 4.52}, {"Gemma-3n-E2B", 4.46, 2.44}}) {
    const ModelShape shape = ShapeOrFail(Model(name));
    ASSERT_TRUE(shape.parameters.has_value());
    EXPECT_NEAR(static_cast<double>(shape.parameters->total()) / 1e9, all, 0.005);
    EXPECT_NEAR(static_cast<double>(shape.parameters->active()) / 1e9, effective, 0.005);
    const auto weights = EstimateWeights(shape, "bf16", "");
    ASSERT_TRUE(weights.has_value());
    EXPECT_EQ(weights->all, 2 * shape.parameters->total());
    EXPECT_EQ(weights->always, 2 * shape.parameters->active());
  }
}

// Whatever the model: a longer context and more users never take less, parts add up, and what is
// said to fit does, with the next one not.
TEST(KnownModelsTest, PlansOfTheWholeTableGrowAndAddUp) {
  constexpr std::uint64_t kMemory = std::uint64_t{1} << 41;
  for (const KnownConfig& model : KnownConfigs()) {
    SCOPED_TRACE(model.name);
    const auto shape = std::make_shared<const ModelShape>(ShapeOrFail(model));
    for (const char* type : {"f32", "bf16", "q8_0", "q4_0"}) {
      const KvCoding coding = KvCodingFromName(type).value();
      const auto planner =
          Planner::Create(shape, {.kv = {.codings = {coding, coding}}, .memory = kMemory});
      ASSERT_TRUE(planner.has_value()) << planner.error().Message();
      std::uint64_t longest = 0;
      for (const std::int64_t context : {1, 16, 17, 1000, 8192, 100'000}) {
        const Plan plan = planner->At(2, context).value_or(Plan{});
        EXPECT_GE(plan.total_bytes(), longest) << type << " " << context;
        EXPECT_GT(planner->At(3, context).value_or(Plan{}).kv.bytes, plan.kv.bytes);
        const MemoryPlan& parts = plan.parts;
        EXPECT_EQ(plan.total_bytes(), parts.weights_bytes + plan.kv.bytes + plan.kv.state_bytes +
                                          parts.kv_index_bytes + parts.workspace_bytes +
                                          parts.program_bytes);
        longest = plan.total_bytes();
      }
      const std::int64_t users = planner->MaxUsers(8192);
      EXPECT_LE(planner->At(users, 8192).value_or(Plan{}).total_bytes(), kMemory);
      EXPECT_GT(planner->At(users + 1, 8192).value_or(Plan{}).total_bytes(), kMemory);
    }
  }
}

// A context of 2^31 and a million users are numbers like others.
TEST(KnownModelsTest, NoPlanOfTheWholeTableOverflows) {
  for (const KnownConfig& model : KnownConfigs()) {
    SCOPED_TRACE(model.name);
    const ModelShape shape = ShapeOrFail(model);
    const KvCodings codings = KvCodingsOf(KvType::kF32);
    constexpr std::int64_t kContext = std::int64_t{1} << 31;
    const KvPlan one = PlanOrFail(shape, {.context = kContext, .codings = codings});
    const KvPlan many = PlanOrFail(shape, {.context = 1, .users = 1'000'000, .codings = codings});
    for (const KvKindPlan& kind : one.kinds) {
      EXPECT_TRUE(kind.window > 0 || one.bytes >= kind.bytes_per_token * kContext);
    }
    EXPECT_EQ(many.bytes, 1'000'000 * many.bytes_per_sequence);
    const auto both = PlanKv(shape, {.context = kContext, .users = 1'000'000, .codings = codings});
    EXPECT_TRUE(!both || both->bytes == 1'000'000 * one.bytes);
  }
}

}  // namespace
}  // namespace folio
