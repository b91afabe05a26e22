// Shapes by GGUF's keys alone, of architectures that the engine does not have.
#include "plan/gguf_shape.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/gguf.h"
#include "formats/gguf_test_writer.h"
#include "plan/kv_plan.h"

namespace folio {
namespace {

using testing::TestGguf;

class Model {
 public:
  explicit Model(std::string architecture) : name_(std::move(architecture)) {
    gguf_.AddString("general.architecture", name_);
    gguf_.AddF32("token_embd.weight", {32, 300});
    Uint("context_length", 4096);
  }
  Model& Uint(const std::string& key, std::uint32_t value) {
    gguf_.Add(name_ + "." + key, GgufValueType::kUint32, value);
    return *this;
  }
  Model& Ints(const std::string& key, const std::vector<std::int32_t>& values) {
    gguf_.AddArray(name_ + "." + key, GgufValueType::kInt32, values);
    return *this;
  }
  Model& Bools(const std::string& key, const std::vector<std::uint8_t>& values) {
    gguf_.AddArray(name_ + "." + key, GgufValueType::kBool, values);
    return *this;
  }
  Model& Tensor(const std::string& name, std::vector<std::uint64_t> dims) {
    gguf_.AddF32(name, std::move(dims));
    return *this;
  }
  Result<ModelShape> Shape() {
    bytes_ = gguf_.Bytes();
    const Result<ModelFile> file = ParseGguf("model.gguf", bytes_);
    if (!file) return std::unexpected(file.error());
    return ReadGgufShape(*file);
  }
  ModelShape ShapeOrFail() {
    Result<ModelShape> shape = Shape();
    EXPECT_TRUE(shape.has_value()) << (shape ? "" : shape.error().Message());
    return shape ? *std::move(shape) : ModelShape{};
  }

 private:
  std::string name_;
  TestGguf gguf_;
  std::vector<std::byte> bytes_;
};

std::uint64_t BytesPerToken(const ModelShape& shape) {
  return PlanKv(shape, {.context = 1, .codings = KvCodingsOf(KvType::kF16)})
      .value_or(KvPlan{})
      .bytes_per_token;
}

std::vector<std::int64_t> WindowsOf(const ModelShape& shape) {
  std::vector<std::int64_t> windows;
  for (const LayerShape& layer : shape.layers) windows.push_back(layer.kv.window);
  return windows;
}

// LFM2-1.2B's keys: zeros among head_count_kv, which one calculator took for no cache at all.
TEST(GgufShapeTest, LayersWithoutKvHeadsHaveAStateInTheirPlace) {
  const ModelShape shape = Model("lfm2")
                               .Uint("block_count", 4)
                               .Uint("embedding_length", 2048)
                               .Uint("attention.head_count", 32)
                               .Ints("attention.head_count_kv", {0, 8, 0, 8})
                               .Uint("shortconv.l_cache", 3)
                               .ShapeOrFail();
  EXPECT_EQ(BytesPerToken(shape), 2U * 2 * 8 * 64 * 2);
  EXPECT_EQ(StateBytes(shape), 2U * 2 * 2048 * 4);
  EXPECT_NE(shape.runs_not, "");
}

// Qwen3-Next: one layer in four has attention; 32 matrices of 128 x 128 and a convolution of 3
// inputs of 2 x 16 x 128 + 32 x 128 channels in the others.
TEST(GgufShapeTest, AGatedDeltaRuleKeepsItsMatrices) {
  const ModelShape shape = Model("qwen3next")
                               .Uint("block_count", 8)
                               .Uint("embedding_length", 2048)
                               .Uint("attention.head_count", 16)
                               .Uint("attention.head_count_kv", 2)
                               .Uint("attention.key_length", 256)
                               .Uint("attention.value_length", 256)
                               .Uint("ssm.inner_size", 4096)
                               .Uint("ssm.state_size", 128)
                               .Uint("ssm.group_count", 16)
                               .Uint("ssm.conv_kernel", 4)
                               .ShapeOrFail();
  EXPECT_EQ(BytesPerToken(shape), 2U * 2 * 2 * 256 * 2);
  EXPECT_EQ(StateBytes(shape), 6U * 4 * (32 * 128 * 128 + 3 * 8192));
}

TEST(GgufShapeTest, MambaBesideAttentionInJamba) {
  const ModelShape shape = Model("jamba")
                               .Uint("block_count", 3)
                               .Uint("embedding_length", 4096)
                               .Uint("attention.head_count", 32)
                               .Ints("attention.head_count_kv", {0, 8, 0})
                               .Uint("ssm.inner_size", 8192)
                               .Uint("ssm.state_size", 16)
                               .Uint("ssm.conv_kernel", 4)
                               .ShapeOrFail();
  EXPECT_EQ(BytesPerToken(shape), 2U * 8 * 128 * 2);
  EXPECT_EQ(StateBytes(shape), 2U * 4 * 8192 * (16 + 3));
}

TEST(GgufShapeTest, WindowsFollowTheListTheNumberOrTheArchitecture) {
  const auto base = [](const char* architecture) {
    return Model(architecture)
        .Uint("block_count", 5)
        .Uint("embedding_length", 64)
        .Uint("attention.head_count", 2)
        .Uint("attention.head_count_kv", 1)
        .Uint("attention.sliding_window", 100);
  };
  EXPECT_EQ(WindowsOf(base("cohere2").ShapeOrFail()),
            (std::vector<std::int64_t>{100, 100, 100, 0, 100}));
  EXPECT_EQ(WindowsOf(base("cohere2").Uint("attention.sliding_window_pattern", 2).ShapeOrFail()),
            (std::vector<std::int64_t>{100, 0, 100, 0, 100}));
  EXPECT_EQ(
      WindowsOf(
          base("exaone4").Bools("attention.sliding_window_pattern", {1, 0, 0, 1, 1}).ShapeOrFail()),
      (std::vector<std::int64_t>{100, 0, 0, 100, 100}));
  EXPECT_EQ(WindowsOf(base("starcoder2").ShapeOrFail()), (std::vector<std::int64_t>(5, 100)));
  const Result<ModelShape> bad =
      base("exaone4").Bools("attention.sliding_window_pattern", {1, 0}).Shape();
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().Message().find("sliding_window_pattern: has 2 entries for 5 layers"),
            std::string::npos);
}

// Gemma 3n: the last two layers read what the last of their kind before them stored.
TEST(GgufShapeTest, SharedLayersStoreNothing) {
  const ModelShape shape = Model("gemma3n")
                               .Uint("block_count", 6)
                               .Uint("embedding_length", 64)
                               .Uint("attention.head_count", 2)
                               .Uint("attention.head_count_kv", 1)
                               .Uint("attention.sliding_window", 100)
                               .Uint("attention.sliding_window_pattern", 2)
                               .Uint("attention.shared_kv_layers", 2)
                               .ShapeOrFail();
  EXPECT_EQ(StoredLayersOf(shape).layers.size(), 4U);
  EXPECT_EQ(shape.layers[4].reuses, 2);
  EXPECT_EQ(shape.layers[5].reuses, 3);
}

TEST(GgufShapeTest, LatentVectorsAndTensorsAreCounted) {
  const ModelShape shape = Model("minicpm3")
                               .Uint("block_count", 2)
                               .Uint("embedding_length", 64)
                               .Uint("attention.head_count", 40)
                               .Uint("attention.key_length", 96)
                               .Uint("attention.value_length", 64)
                               .Uint("attention.kv_lora_rank", 256)
                               .Uint("rope.dimension_count", 32)
                               .Uint("expert_count", 4)
                               .Uint("expert_used_count", 2)
                               .Tensor("blk.0.ffn_up_exps.weight", {32, 8, 4})
                               .Tensor("blk.1.ffn_up.3.weight", {32, 8})
                               .Tensor("blk.1.ffn_gate_inp.weight", {32, 4})
                               .ShapeOrFail();
  EXPECT_EQ(BytesPerToken(shape), 2U * (256 + 32) * 2);
  ASSERT_TRUE(shape.parameters && shape.weights);
  EXPECT_EQ(shape.parameters->embedding, 32U * 300);
  EXPECT_EQ(shape.parameters->layers, 32U * 4);
  EXPECT_EQ(shape.parameters->expert, 32U * 8 * 5 / 4);
  EXPECT_EQ(shape.weights->all, 4U * (32 * 300 + 32 * 8 * 5 + 32 * 4));
  // The embedding is the output: every token reads it.
  EXPECT_EQ(shape.weights->always, 4U * (32 * 300 + 32 * 4));
}

// Gemma 3n: rows are looked up of it, so that no step reads it whole.
TEST(GgufShapeTest, AnEmbeddingOfLayersIsCountedButNotRead) {
  const auto base = [] {
    return Model("gemma3n")
        .Uint("block_count", 2)
        .Uint("embedding_length", 32)
        .Uint("attention.head_count", 1)
        .Uint("attention.head_count_kv", 1)
        .Uint("attention.sliding_window", 100);
  };
  const ModelShape without = base().ShapeOrFail();
  const ModelShape with = base().Tensor("per_layer_token_embd.weight", {64, 300}).ShapeOrFail();
  EXPECT_EQ(with.parameters->total(), without.parameters->total() + 64 * 300);
  EXPECT_EQ(with.parameters->active(), without.parameters->active());
  EXPECT_EQ(with.weights->all, without.weights->all + 4U * 64 * 300);
  EXPECT_EQ(with.weights->always, without.weights->always);
}

TEST(GgufShapeTest, WhatIsMissingOrUnknownIsNamed) {
  const auto refusal = [](Model model) {
    const Result<ModelShape> shape = model.Shape();
    EXPECT_FALSE(shape.has_value());
    return shape ? std::string() : shape.error().Message();
  };
  EXPECT_NE(refusal(Model("telepathy")).find("general.architecture"), std::string::npos);
  EXPECT_NE(refusal(Model("lfm2")).find("lfm2.embedding_length"), std::string::npos);
  EXPECT_NE(refusal(Model("lfm2").Uint("block_count", 2).Uint("embedding_length", 64))
                .find("lfm2.attention.head_count"),
            std::string::npos);
  EXPECT_NE(refusal(Model("lfm2")
                        .Uint("block_count", 2)
                        .Uint("embedding_length", 64)
                        .Uint("attention.head_count", 2)
                        .Ints("attention.head_count_kv", {1, -1}))
                .find("lfm2.attention.head_count_kv"),
            std::string::npos);
  EXPECT_NE(refusal(Model("lfm2")
                        .Uint("block_count", 2)
                        .Uint("embedding_length", 64)
                        .Uint("attention.head_count", 2)
                        .Ints("attention.head_count_kv", {1, 1, 1}))
                .find("3 numbers for 2 layers"),
            std::string::npos);
}

Model Small(const char* architecture) {
  return Model(architecture).Uint("block_count", 4).Uint("embedding_length", 64);
}

std::string RefusalOf(Model model) {
  const Result<ModelShape> shape = model.Shape();
  return shape ? "accepted" : shape.error().Message();
}

TEST(GgufShapeTest, KvHeadsThatDoNotDivideTheHeadsAreRefused) {
  const auto of = [](std::uint32_t heads, std::uint32_t kv_heads) {
    return Small("starcoder2")
        .Uint("attention.head_count", heads)
        .Uint("attention.head_count_kv", kv_heads);
  };
  EXPECT_EQ(RefusalOf(of(8, 2)), "accepted");
  for (const auto& [heads, kv_heads] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{8, 3}, {8, 16}, {8, 65536}, {0, 2}}) {
    EXPECT_NE(RefusalOf(of(heads, kv_heads)).find("attention.head_count_kv: is"), std::string::npos)
        << heads << " " << kv_heads;
  }
  EXPECT_NE(RefusalOf(of(0, 0)).find("leaves no layer keys and values"), std::string::npos);
  EXPECT_NE(RefusalOf(of(8, 0)).find("leaves no layer keys and values"), std::string::npos);
  EXPECT_NE(RefusalOf(of(32, 2).Uint("attention.key_length", 1 << 20)).find("elements together"),
            std::string::npos);
}

TEST(GgufShapeTest, WhatAnArchitectureNeedsIsNotGuessed) {
  const auto of = [](const char* architecture) {
    return Small(architecture).Uint("attention.head_count", 2).Uint("attention.head_count_kv", 1);
  };
  EXPECT_NE(RefusalOf(of("cohere2")).find("cohere2.attention.sliding_window"), std::string::npos);
  EXPECT_EQ(RefusalOf(of("exaone4")), "accepted");
  EXPECT_NE(RefusalOf(of("minicpm3").Uint("attention.kv_lora_rank", 256))
                .find("minicpm3.rope.dimension_count"),
            std::string::npos);
  EXPECT_NE(RefusalOf(of("qwen2moe").Uint("expert_count", 8).Uint("expert_used_count", 9))
                .find("expert_used_count: is 9, more than the 8 experts"),
            std::string::npos);
  // Layers 0 and 2 see the window, 1 and 3 everything: one shares with a layer, three can't all.
  EXPECT_NE(RefusalOf(of("gemma3n")
                          .Uint("attention.sliding_window", 100)
                          .Uint("attention.sliding_window_pattern", 2)
                          .Uint("attention.shared_kv_layers", 3))
                .find("attention.shared_kv_layers"),
            std::string::npos);
}

TEST(GgufShapeTest, ChunksOfLlama4AreTheArchitecturesWhereTheFileLeavesThemOut) {
  const ModelShape shape = Small("llama4")
                               .Uint("attention.head_count", 2)
                               .Uint("attention.head_count_kv", 1)
                               .ShapeOrFail();
  EXPECT_EQ(WindowsOf(shape), (std::vector<std::int64_t>{8192, 8192, 8192, 0}));
  ASSERT_EQ(shape.notes.size(), 1U);
  EXPECT_NE(shape.notes[0].find("attention.chunk_size is not in the file"), std::string::npos);
}

}  // namespace
}  // namespace folio
