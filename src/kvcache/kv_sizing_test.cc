#include "kvcache/kv_sizing.h"

#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

KvSpec Uniform(int layers, int kv_heads, int head_dim) {
  KvSpec spec;
  spec.layers.assign(static_cast<std::size_t>(layers),
                     {.kv_heads = kv_heads, .head_dim = head_dim, .window = 0});
  return spec;
}

// 2 (K and V) * 36 layers * 8 heads * 128 * 2 bytes = 147,456 a token; * 100,000 = 14,745,600,000
// (Qwen3-8B, BF16).
TEST(KvSizingTest, Qwen3_8BAt100000TokensIsTheDocumentsNumber) {
  EXPECT_EQ(KvBytesPerToken(Uniform(36, 8, 128), KvType::kBf16) * 100000, 14745600000U);
}

// DeepSeek-V3: 61 layers, each token's latent vector of 512 and the 64 rotated elements, once.
TEST(KvSizingTest, LatentVectorsAreStoredOnce) {
  KvSpec spec;
  spec.layers.assign(61, {.kv_heads = 1, .head_dim = 576, .latent_dim = 512});
  EXPECT_EQ(KvBytesPerToken(spec, KvType::kBf16), 61U * 576 * 2);
  const Result<KvLayout> layout = LayOutKvBlock(spec, KvType::kBf16, 16);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->block_bytes * layout->groups.size() - layout->padding_bytes,
            16U * KvBytesPerToken(spec, KvType::kBf16));
  EXPECT_EQ(layout->layers[0].v_offset, 0U);
  EXPECT_EQ(layout->layers[0].head_stride, 16U * 576 * 2);
}

TEST(KvSizingTest, ALatentVectorThatKernelsCannotReadIsRefused) {
  for (const int latent : {-32, 40, 576, 608}) {
    KvSpec spec;
    spec.layers.assign(2, {.kv_heads = 1, .head_dim = 576, .latent_dim = latent});
    const Result<KvLayout> layout = LayOutKvBlock(spec, KvType::kBf16, 16);
    ASSERT_FALSE(layout.has_value()) << latent;
    EXPECT_NE(layout.error().Message().find(std::to_string(latent)), std::string::npos);
  }
}

TEST(KvSizingTest, AUniformModelIsOneGroupAndABlockIsItsTokensTimesBytesPerToken) {
  for (const KvType type : {KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0}) {
    for (const int block_size : {16, 32, 64}) {
      const KvSpec spec = Uniform(3, 2, 96);
      const Result<KvLayout> layout = LayOutKvBlock(spec, type, block_size);
      ASSERT_TRUE(layout.has_value());
      ASSERT_EQ(layout->groups.size(), 1U);
      EXPECT_EQ(layout->groups[0].layers, (std::vector<int>{0, 1, 2}));
      EXPECT_EQ(layout->padding_bytes, 0U);
      EXPECT_EQ(layout->block_bytes % 64, 0U);
      EXPECT_EQ(layout->block_bytes,
                KvBytesPerToken(spec, type) * static_cast<std::size_t>(block_size));
    }
  }
}

// Gemma 3 270M: 18 layers with one KV head of 256, every sixth sees everything, the others 512.
KvSpec Gemma3_270M() {
  KvSpec spec = Uniform(18, 1, 256);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) spec.layers[i].window = i % 6 == 5 ? 0 : 512;
  return spec;
}

TEST(KvSizingTest, Gemma3HasSixGroupsOfThreeLayersWithoutPadding) {
  const Result<KvLayout> layout = LayOutKvBlock(Gemma3_270M(), KvType::kBf16, 16);
  ASSERT_TRUE(layout.has_value());
  ASSERT_EQ(layout->groups.size(), 6U);
  EXPECT_EQ(layout->block_bytes, 3U * 2 * 256 * 2 * 16);
  EXPECT_EQ(layout->padding_bytes, 0U);
  int full = 0;
  for (const KvGroup& group : layout->groups) {
    EXPECT_EQ(group.layers.size(), 3U);
    if (group.window == 0) ++full;
  }
  EXPECT_EQ(full, 1);
}

TEST(KvSizingTest, ALongContextCostsWhatTheGroupsSay) {
  // 32,768 tokens in chunks of 512: 2,048 blocks of the full group, 65 of each of the other five.
  const Result<KvLayout> layout = LayOutKvBlock(Gemma3_270M(), KvType::kBf16, 16);
  ASSERT_TRUE(layout.has_value());
  std::int64_t blocks = 0;
  for (const KvGroup& group : layout->groups) {
    blocks += BlocksHeldAtMost(32768, group.window, 512, 16);
  }
  EXPECT_EQ(blocks, 2048 + 5 * 65);
}

TEST(KvSizingTest, LayersLieInTheirGroupsBlockOneAfterTheOther) {
  KvSpec spec = Uniform(7, 3, 64);
  for (const std::size_t i : {1U, 4U, 5U})
    spec.layers[i] = {.kv_heads = 1, .head_dim = 256, .window = 512};
  for (const KvType type : {KvType::kBf16, KvType::kF32, KvType::kQ8_0}) {
    const Result<KvLayout> layout = LayOutKvBlock(spec, type, 32);
    ASSERT_TRUE(layout.has_value());
    std::size_t padding = 0;
    for (std::size_t g = 0; g < layout->groups.size(); ++g) {
      std::size_t end = 0;
      for (const int i : layout->groups[g].layers) {
        const KvLayerLayout& layer = layout->layers[static_cast<std::size_t>(i)];
        const KvLayerSpec& of = spec.layers[static_cast<std::size_t>(i)];
        EXPECT_EQ(layer.group, static_cast<int>(g));
        EXPECT_EQ(of.window, layout->groups[g].window);
        EXPECT_EQ(layer.offset, end);
        EXPECT_EQ(layer.v_offset, KvVectorBytes(type, of.head_dim) * 32);
        EXPECT_EQ(layer.head_stride, 2 * layer.v_offset);
        end += layer.head_stride * static_cast<std::size_t>(of.kv_heads);
      }
      EXPECT_LE(end, layout->block_bytes);
      padding += layout->block_bytes - end;
    }
    EXPECT_EQ(padding, layout->padding_bytes);
  }
}

std::string Refusal(const KvSpec& spec, int block_size = 16) {
  const Result<KvLayout> layout = LayOutKvBlock(spec, KvType::kBf16, block_size);
  return layout.has_value() ? "" : layout.error().Message();
}

TEST(KvSizingTest, OddSizesAreRefusedWithTheValue) {
  EXPECT_EQ(Refusal(Uniform(1, 1, 64), 24),
            "KV cache: block size: 24 is not a positive multiple of 16");
  EXPECT_EQ(Refusal(Uniform(1, 1, 80)), "KV cache: head size: 80 is not a positive multiple of 32");
  EXPECT_EQ(Refusal(Uniform(1, 0, 64)), "KV cache: KV heads: 0 is not a positive number");
  EXPECT_EQ(Refusal(Uniform(0, 1, 64)), "KV cache: layers: there are none");
  KvSpec spec = Uniform(1, 1, 64);
  spec.layers[0].window = -1;
  EXPECT_EQ(Refusal(spec), "KV cache: window: -1 is negative");
}

TEST(KvSizingTest, SizesThatDoNotFitAreRefused) {
  constexpr int kLarge = 0x7fff'ffe0;
  constexpr int kWidest = 1 << 20;
  EXPECT_EQ(Refusal(Uniform(1, kLarge, kWidest), kLarge),
            "KV cache: block: its bytes do not fit 64 bits");
  EXPECT_EQ(Refusal(Uniform(100, kLarge, kWidest), 16),
            "KV cache: block: its bytes do not fit 64 bits");
  EXPECT_EQ(Refusal(Uniform(1, 1, kLarge), 16), "KV cache: head size: 2147483616 is no size");
}

TEST(KvSizingTest, TheLastBlockCountsWhole) {
  EXPECT_EQ(BlocksForTokens(0, 16), 0);
  EXPECT_EQ(BlocksForTokens(1, 16), 1);
  EXPECT_EQ(BlocksForTokens(16, 16), 1);
  EXPECT_EQ(BlocksForTokens(17, 16), 2);
}

}  // namespace
}  // namespace folio
