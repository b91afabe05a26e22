// What calculators are known to get wrong, and what is right.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plan/known_configs_testing.h"

namespace folio {
namespace {

constexpr double kGib = 0x1p30;

// hidden / heads in the place of head_dim halves Qwen3's and GLM-4.5's keys and values.
TEST(CalculatorFaultsTest, HeadsMayBeWiderThanHiddenOverHeads) {
  for (const auto& [name, naive] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"Qwen3-30B-A3B", 48 * 2 * 4 * (2048 / 32) * 2},
           {"Qwen3-0.6B", 28 * 2 * 8 * (1024 / 16) * 2}}) {
    EXPECT_EQ(Model(name).kv_per_token, 2 * naive) << name;
  }
}

// MLA as if every head had keys of 192 and values of 128: 71 times too much for V3. And it is
// no pair of a key and a value as long as the rank each.
TEST(CalculatorFaultsTest, LatentAttentionStoresOneVectorForAllHeads) {
  const ModelShape shape = ShapeOrFail(Model("DeepSeek-V3"));
  ASSERT_EQ(shape.layers.size(), 61U);
  EXPECT_EQ(shape.layers[0].kv.kv_heads, 1);
  EXPECT_EQ(shape.layers[0].kv.head_dim, 576);
  EXPECT_EQ(shape.layers[0].kv.latent_dim, 512);
  const std::uint64_t as_heads = 61ULL * 128 * (192 + 128) * 2;
  EXPECT_GT(as_heads / Model("DeepSeek-V3").kv_per_token, 70U);
  EXPECT_NE(Model("DeepSeek-V3").kv_per_token, 61U * 2 * 512 * 2);
}

// A cache without the part of the keys that carries positions (models whose positions come from
// elsewhere).
TEST(CalculatorFaultsTest, LatentAttentionWithoutRotatedPartStoresTheRankAlone) {
  KnownConfig model = Model("DeepSeek-V3");
  const std::string field = "\"qk_rope_head_dim\": 64";
  model.config.replace(model.config.find(field), field.size(), "\"qk_rope_head_dim\": 0");
  const KvPlan plan =
      PlanOrFail(ShapeOrFail(model), {.context = 16, .codings = KvCodingsOf(KvType::kBf16)});
  EXPECT_EQ(plan.bytes_per_token, 61U * 512 * 2);
}

// Another tool was 682 % over for this model. 10 layers are full, two groups of Folio's; 52 see a
// window, for which 11 groups of five take room for 55.
TEST(CalculatorFaultsTest, WindowsHoldTheirPositionsAndNotTheContext) {
  const ModelShape shape = ShapeOrFail(Model("Gemma-3-27B"));
  int full = 0;
  for (const LayerShape& layer : shape.layers) full += layer.kv.window == 0 ? 1 : 0;
  EXPECT_EQ(full, 10);
  const KvQuestion question = {
      .context = 32'768, .chunk = 16, .codings = KvCodingsOf(KvType::kBf16)};
  const KvPlan plan = PlanOrFail(shape, question);
  const std::uint64_t full_bytes = 10ULL * 2 * 16 * 128 * 2 * 32'768;
  const std::uint64_t window_bytes = 55ULL * 2 * 16 * 128 * 2 * (1024 + 32);
  EXPECT_GE(plan.bytes, full_bytes + 52ULL * 2 * 16 * 128 * 2 * 1024);
  EXPECT_LE(plan.bytes, full_bytes + window_bytes);
  EXPECT_LT(plan.bytes, 507'904ULL * 32'768 / 4);
}

// gpt-oss twice over: half its layers see 128 positions.
TEST(CalculatorFaultsTest, GptOssStoresHalfOfItsLayersInFull) {
  const ModelShape shape = ShapeOrFail(Model("gpt-oss-20b"));
  const KvPlan plan =
      PlanOrFail(shape, {.context = 131'072, .chunk = 16, .codings = KvCodingsOf(KvType::kBf16)});
  const std::uint64_t all_full = 49'152ULL * 131'072;
  EXPECT_LT(plan.bytes, all_full * 51 / 100);
  EXPECT_GE(plan.bytes, all_full / 2);
  // Its layers begin with a window.
  EXPECT_EQ(shape.layers[0].kv.window, 128);
  EXPECT_EQ(shape.layers[1].kv.window, 0);
}

// Gemma 3n was over-estimated six and a half times: windows and shared layers both.
TEST(CalculatorFaultsTest, LayersThatReadOthersKeysStoreNone) {
  const ModelShape shape = ShapeOrFail(Model("Gemma-3n-E4B"));
  int storing = 0;
  for (const LayerShape& layer : shape.layers) storing += layer.kv.kv_heads > 0 ? 1 : 0;
  EXPECT_EQ(storing, 20);
  // Layer 34 sees everything and reads layer 19, the last such that stores; layer 33 reads 18.
  EXPECT_EQ(shape.layers[34].reuses, 19);
  EXPECT_EQ(shape.layers[33].reuses, 18);
  const KvPlan plan =
      PlanOrFail(shape, {.context = 32'768, .chunk = 16, .codings = KvCodingsOf(KvType::kBf16)});
  const std::uint64_t all_full = 35ULL * 2 * 2 * 256 * 2 * 32'768;
  EXPECT_GT(all_full, 6 * plan.bytes);
}

// Per-layer KV heads with zeros made LFM2's cache vanish altogether in one tool.
TEST(CalculatorFaultsTest, HybridModelsHaveKeysAndValuesInTheirAttentionLayersAlone) {
  const ModelShape shape = ShapeOrFail(Model("LFM2-1.2B"));
  int attention = 0;
  for (const LayerShape& layer : shape.layers) {
    attention += layer.kv.kv_heads > 0 ? 1 : 0;
    EXPECT_NE(layer.kv.kv_heads > 0, layer.convolution_elements > 0);
  }
  EXPECT_EQ(attention, 6);
}

// "one Qwen3.8-27B checkpoint = 149.6 MiB, x 32 x 4 slots = 18.7 GiB": 48 layers of 48 matrices
// 128 x 128 (144 MiB) and of 3 inputs of 10,240 channels (5.6 MiB), 4 bytes a number.
TEST(CalculatorFaultsTest, StatesOfSequencesAreCountedOnceEach) {
  const KnownConfig model = {
      "Qwen3.8-27B",
      R"({"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text",
          "hidden_size": 5120, "intermediate_size": 17408, "head_dim": 256,
          "num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4,
          "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 48,
          "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
          "vocab_size": 248320, "max_position_embeddings": 262144}})"};
  const ModelShape shape = ShapeOrFail(model);
  const KvPlan plan =
      PlanOrFail(shape, {.context = 1000, .users = 128, .codings = KvCodingsOf(KvType::kBf16)});
  EXPECT_NEAR(static_cast<double>(plan.state_bytes_per_sequence) / 0x1p20, 149.6, 0.05);
  EXPECT_NEAR(static_cast<double>(plan.state_bytes) / kGib, 18.7, 0.05);
  // Layers as if all had attention: four times too much.
  EXPECT_EQ(plan.bytes_per_token, 16U * 2 * 4 * 256 * 2);
}

// q8_0 has 8.5 bits and q4_0 4.5, scales included; keys and values may differ.
TEST(CalculatorFaultsTest, ScalesOfQuantisedCachesAreCounted) {
  const ModelShape shape = ShapeOrFail(Model("Llama-3.1-8B"));
  const auto per_token = [&](std::string_view keys, std::string_view values) {
    return PlanOrFail(shape, {.context = 16,
                              .codings = {*KvCodingFromName(keys), *KvCodingFromName(values)}})
        .bytes_per_token;
  };
  const std::uint64_t numbers = 32ULL * 2 * 8 * 128;
  EXPECT_EQ(per_token("q8_0", "q8_0"), numbers * 17 / 16);
  EXPECT_EQ(per_token("q4_0", "q4_0"), numbers * 9 / 16);
  EXPECT_EQ(per_token("q8_0", "q4_0"), numbers * 13 / 16);
  EXPECT_EQ(per_token("f32", "f16"), numbers * 3);
}

// Of LMCache's three calculators none rounds to blocks, counts users or shares prefixes.
TEST(CalculatorFaultsTest, BlocksAreWholeAndPrefixesSharedOnce) {
  const ModelShape shape = ShapeOrFail(Model("Llama-3.1-8B"));
  KvQuestion question = {.context = 1001, .users = 10, .codings = KvCodingsOf(KvType::kBf16)};
  KvPlan plan = PlanOrFail(shape, question);
  EXPECT_EQ(plan.blocks_per_sequence, 63);
  EXPECT_EQ(plan.empty_slots, 7);
  EXPECT_EQ(plan.waste_bytes, 7U * 131'072);
  EXPECT_EQ(plan.num_blocks, 630);
  question.shared_prefix = 100;  // 6 whole blocks; the 7th is each user's own
  plan = PlanOrFail(shape, question);
  EXPECT_EQ(plan.num_blocks, 6 + 10 * 57);
}

// Cross-layer sharing: LMCache's own case.
TEST(CalculatorFaultsTest, CrossLayerAttentionStoresOneLayerOfEachGroup) {
  const ModelShape shape = ShapeOrFail(Model("Hunyuan-Large"));
  EXPECT_EQ(StoredLayersOf(shape).layers.size(), 32U);
  EXPECT_EQ(shape.layers[1].reuses, 0);
  EXPECT_EQ(shape.layers[63].reuses, 62);
}

}  // namespace
}  // namespace folio
