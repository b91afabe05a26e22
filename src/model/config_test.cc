#include "model/config.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "model/weights.h"
#include "support/tiny_model.h"

namespace folio {
namespace {

Result<ModelConfig> ConfigOf(const TinyModelSpec& spec) {
  const std::string path =
      testing::TempDir() + "folio_config_" + std::to_string(getpid()) + ".gguf";
  EXPECT_TRUE(WriteTinyModel(spec, path));
  const Result<Gguf> file = Gguf::Open(path);
  std::filesystem::remove(path);
  if (!file) return std::unexpected(file.error());
  Result<ModelConfig> config = ReadModelConfig(*file);
  if (!config) return config;
  if (const Result<std::uint64_t> bytes = WeightsBytes(*file, *config); !bytes) {
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
  const Result<Gguf> file = Gguf::Open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(file.has_value());
  Result<ModelConfig> config = ReadModelConfig(*file);
  ASSERT_TRUE(config.has_value());
  config->qk_norm = true;  // what a qwen3 file would need
  const Result<std::uint64_t> bytes = WeightsBytes(*file, *config);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_NE(bytes.error().Message().find("blk.0.attn_q_norm.weight: tensor is missing"),
            std::string::npos);
  config->qk_norm = false;
  config->ffn = 95;
  const Result<std::uint64_t> misshapen = WeightsBytes(*file, *config);
  ASSERT_FALSE(misshapen.has_value());
  EXPECT_NE(misshapen.error().Message().find(
                "blk.0.ffn_gate.weight: has shape [64, 96], must have [64, 95]"),
            std::string::npos);
}

}  // namespace
}  // namespace folio
