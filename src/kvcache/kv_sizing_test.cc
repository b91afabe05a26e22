#include "kvcache/kv_sizing.h"

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

TEST(KvSizingTest, OddSizesAreRefusedWithTheValue) {
  EXPECT_NE(LayOutKvBlock(Uniform(1, 1, 64), KvType::kBf16, 24).error().Message().find("24"),
            std::string::npos);
  EXPECT_NE(LayOutKvBlock(Uniform(1, 1, 80), KvType::kBf16, 16).error().Message().find("80"),
            std::string::npos);
}

TEST(KvSizingTest, TheLastBlockCountsWhole) {
  EXPECT_EQ(BlocksForTokens(0, 16), 0);
  EXPECT_EQ(BlocksForTokens(1, 16), 1);
  EXPECT_EQ(BlocksForTokens(16, 16), 1);
  EXPECT_EQ(BlocksForTokens(17, 16), 2);
}

}  // namespace
}  // namespace folio
