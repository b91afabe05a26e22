#include "model/config.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "formats/open_model.h"
#include "model/positions.h"
#include "model/weights.h"
#include "support/tiny_model.h"

namespace folio {
namespace {

Result<ModelConfig> ConfigOf(const TinyModelSpec& spec) {
  const std::string path =
      testing::TempDir() + "folio_config_" + std::to_string(getpid()) + ".gguf";
  EXPECT_TRUE(WriteTinyModel(spec, path));
  const Result<ModelFile> file = OpenModelFile(path);
  std::filesystem::remove(path);
  if (!file) return std::unexpected(file.error());
  Result<ModelConfig> config = ReadModelConfig(*file);
  if (!config) return config;
  if (const Result<WeightBytes> bytes = MeasureWeights(*file, *config); !bytes) {
    return std::unexpected(bytes.error());
  }
  return config;
}

std::string ErrorOf(const TinyModelSpec& spec) {
  const Result<ModelConfig> config = ConfigOf(spec);
  if (config) return "";
  EXPECT_EQ(config.error().kind, ErrorKind::kInput);
  return config.error().Message();
}

TEST(ModelConfigTest, Gemma3SeesEverythingInEverySixthLayerOnly) {
  TinyModelSpec spec;
  spec.architecture = "gemma3";
  spec.layers = 13;
  spec.kv_heads = 1;
  const Result<ModelConfig> config = ConfigOf(spec);
  ASSERT_TRUE(config.has_value()) << config.error().Message();
  for (std::size_t i = 0; i < config->layers.size(); ++i) {
    const bool global = i == 5 || i == 11;
    EXPECT_EQ(config->layers[i].window, global ? 0 : spec.window);
    EXPECT_EQ(config->layers[i].rope, global ? 0 : 1);
  }
  EXPECT_FLOAT_EQ(config->embedding_scale, 8.0F);
}

TEST(ModelConfigTest, KvSpecHasOneEntryALayer) {
  TinyModelSpec spec;
  spec.layers = 3;
  const Result<ModelConfig> config = ConfigOf(spec);
  ASSERT_TRUE(config.has_value());
  const KvSpec kv = KvSpecOf(*config);
  ASSERT_EQ(kv.layers.size(), 3U);
  EXPECT_EQ(kv.layers[0].kv_heads, 2);
  EXPECT_EQ(kv.layers[0].head_dim, 32);
}

TEST(ModelConfigTest, AnUnknownArchitectureIsRefusedByNameWithTheKnownOnes) {
  TinyModelSpec spec;
  spec.architecture = "megabrain";
  const std::string error = ErrorOf(spec);
  EXPECT_NE(error.find("megabrain"), std::string::npos) << error;
  EXPECT_NE(error.find("gemma3"), std::string::npos) << error;
}

TEST(ModelConfigTest, HeadsThatDoNotDivideAreRefused) {
  TinyModelSpec spec;
  spec.kv_heads = 3;
  EXPECT_NE(ErrorOf(spec).find("llama.attention.head_count_kv: is 3"), std::string::npos);
}

TEST(ModelConfigTest, AHeadSizeThatKernelsCannotTileIsRefused) {
  TinyModelSpec spec;
  spec.head_dim = 40;
  EXPECT_NE(ErrorOf(spec).find("llama.attention.key_length: is 40"), std::string::npos);
}

TEST(ModelConfigTest, AZeroWindowIsRefused) {
  TinyModelSpec spec;
  spec.architecture = "gemma3";
  spec.window = 0;
  EXPECT_NE(ErrorOf(spec).find("gemma3.attention.sliding_window: is 0"), std::string::npos);
}

TEST(ModelConfigTest, AMissingTensorIsNamed) {
  TinyModelSpec spec;
  spec.architecture = "llama";
  const std::string path =
      testing::TempDir() + "folio_missing_" + std::to_string(getpid()) + ".gguf";
  ASSERT_TRUE(WriteTinyModel(spec, path));
  const Result<ModelFile> file = OpenModelFile(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(file.has_value());
  Result<ModelConfig> config = ReadModelConfig(*file);
  ASSERT_TRUE(config.has_value());
  config->qk_norm = true;  // what a qwen3 file would need
  const Result<WeightBytes> bytes = MeasureWeights(*file, *config);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_NE(bytes.error().Message().find("blk.0.attn_q_norm.weight: tensor is missing"),
            std::string::npos);
  config->qk_norm = false;
  config->ffn = 95;
  const Result<WeightBytes> misshapen = MeasureWeights(*file, *config);
  ASSERT_FALSE(misshapen.has_value());
  EXPECT_NE(misshapen.error().Message().find(
                "blk.0.ffn_gate.weight: has shape [64, 96], must have [64, 95]"),
            std::string::npos);
}

// A head of 32: 16 pairs.
TinyModelSpec Scaled(const std::string& type) {
  TinyModelSpec spec;
  spec.rope_scaling = type;
  spec.floats = {{"rope.scaling.factor", 4.0F}};
  return spec;
}

TEST(RopeConfigTest, ALinearFactorIsRead) {
  const Result<ModelConfig> config = ConfigOf(Scaled("linear"));
  ASSERT_TRUE(config.has_value()) << config.error().Message();
  EXPECT_EQ(std::get<LinearScaling>(config->ropes[0].scaling).factor, 4.0);
}

TEST(RopeConfigTest, YarnIsReadWithThePapersAttentionFactorTimesTheFiles) {
  TinyModelSpec spec = Scaled("yarn");
  spec.uints = {{"rope.scaling.original_context_length", 512}};
  spec.floats.insert(spec.floats.end(), {{"rope.scaling.attn_factor", 0.5F},
                                         {"rope.scaling.yarn_beta_fast", 16.0F},
                                         {"rope.scaling.yarn_beta_slow", 2.0F}});
  const Result<ModelConfig> config = ConfigOf(spec);
  ASSERT_TRUE(config.has_value()) << config.error().Message();
  const auto& yarn = std::get<YarnScaling>(config->ropes[0].scaling);
  EXPECT_EQ(yarn.factor, 4.0);
  EXPECT_EQ(yarn.original_context, 512.0);
  EXPECT_EQ(yarn.beta_fast, 16.0);
  EXPECT_EQ(yarn.beta_slow, 2.0);
  EXPECT_NEAR(yarn.attention_factor, 0.5 * 1.1386294361119891, 1e-15);
}

TEST(RopeConfigTest, YarnsDefaultsAreThePapersAndTheContextIsTheOriginalOne) {
  const Result<ModelConfig> config = ConfigOf(Scaled("yarn"));
  ASSERT_TRUE(config.has_value()) << config.error().Message();
  const auto& yarn = std::get<YarnScaling>(config->ropes[0].scaling);
  EXPECT_EQ(yarn.original_context, 2048.0);
  EXPECT_EQ(yarn.beta_fast, 32.0);
  EXPECT_EQ(yarn.beta_slow, 1.0);
  EXPECT_NEAR(yarn.attention_factor, 1.1386294361119891, 1e-15);
}

TEST(RopeConfigTest, YarnThatNoReferenceCoversIsRefused) {
  for (const char* key : {"yarn_ext_factor", "yarn_attn_factor", "yarn_log_multiplier"}) {
    TinyModelSpec spec = Scaled("yarn");
    spec.floats.emplace_back("rope.scaling." + std::string(key), 0.5F);
    EXPECT_NE(ErrorOf(spec).find(std::string(key) + ": is 0.5"), std::string::npos) << key;
  }
  TinyModelSpec spec = Scaled("yarn");
  spec.floats = {};
  EXPECT_NE(ErrorOf(spec).find("llama.rope.scaling.factor"), std::string::npos);
}

TEST(RopeConfigTest, GemmasLocalLayersAreNotStretched) {
  TinyModelSpec spec = Scaled("yarn");
  spec.architecture = "gemma3";
  const Result<ModelConfig> config = ConfigOf(spec);
  ASSERT_TRUE(config.has_value()) << config.error().Message();
  EXPECT_EQ(RopeScalingName(config->ropes[0].scaling), "yarn");
  EXPECT_EQ(RopeScalingName(config->ropes[1].scaling), "none");
}

TinyModelSpec WithLongRope(const std::string& type) {
  TinyModelSpec spec;
  spec.rope_scaling = type;
  spec.uints = {{"rope.scaling.original_context_length", 512}};
  spec.floats = {{"rope.scaling.attn_factor", 1.25F}};
  spec.vectors = {{"rope_factors_short.weight", std::vector<float>(16, 1.5F)},
                  {"rope_factors_long.weight", std::vector<float>(16, 8.0F)}};
  return spec;
}

TEST(RopeConfigTest, LongRopeIsReadWhereItsListsAre) {
  for (const char* type : {"longrope", "none", ""}) {
    const Result<ModelConfig> config = ConfigOf(WithLongRope(type));
    ASSERT_TRUE(config.has_value()) << config.error().Message();
    const auto& scaling = std::get<LongRopeScaling>(config->ropes[0].scaling);
    EXPECT_EQ(scaling.original_context, 512);
    EXPECT_EQ(scaling.attention_factor, 1.25);
    EXPECT_EQ(scaling.short_factors, std::vector<float>(16, 1.5F));
    EXPECT_EQ(scaling.long_factors, std::vector<float>(16, 8.0F));
  }
}

TEST(RopeConfigTest, TheLongestContextChoosesLongRopesListAndIsPartOfTheHash) {
  const Result<ModelConfig> config = ConfigOf(WithLongRope("longrope"));
  ASSERT_TRUE(config.has_value()) << config.error().Message();
  EXPECT_EQ(MakeRope(config->ropes[0], 512).frequencies[0], 1 / 1.5);
  EXPECT_EQ(MakeRope(config->ropes[0], 513).frequencies[0], 1 / 8.0);
  EXPECT_EQ(PositionsKey(*config, 512), "longrope short");
  EXPECT_EQ(PositionsKey(*config, 513), "longrope long");
  const Result<ModelConfig> yarn = ConfigOf(Scaled("yarn"));
  EXPECT_EQ(PositionsKey(*yarn, 513), "");
}

TEST(RopeConfigTest, LongRopeWithoutAListOrWithAnotherScalingIsRefused) {
  TinyModelSpec spec = WithLongRope("longrope");
  spec.vectors.pop_back();
  EXPECT_NE(ErrorOf(spec).find("rope_factors_long.weight: tensor is missing"), std::string::npos);
  spec = WithLongRope("yarn");
  EXPECT_NE(ErrorOf(spec).find("is 'yarn', but there is a rope_factors_long"), std::string::npos);
}

TEST(RopeConfigTest, FactorsThatAreNoDivisorsAreRefused) {
  TinyModelSpec spec;
  spec.vectors = {{"rope_freqs.weight", std::vector<float>(16, 1.0F)}};
  const Result<ModelConfig> config = ConfigOf(spec);
  ASSERT_TRUE(config.has_value()) << config.error().Message();
  EXPECT_EQ(config->ropes[0].frequency_factors.size(), 16U);
  spec.vectors[0].second[3] = 0.0F;
  EXPECT_NE(ErrorOf(spec).find("rope_freqs.weight: has a factor of 0"), std::string::npos);
  spec.vectors[0].second.pop_back();
  EXPECT_NE(ErrorOf(spec).find("rope_freqs.weight: has shape [15], must have [16]"),
            std::string::npos);
}

TEST(RopeConfigTest, AnUnknownScalingIsRefusedWithTheKnownOnes) {
  const std::string error = ErrorOf(Scaled("dynamic"));
  EXPECT_NE(error.find("is 'dynamic', must be none, linear, yarn or longrope"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace folio
