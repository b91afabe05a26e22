// Blocks small enough to work out by hand; tests/golden/test_quant.py compares random blocks of
// every type with the `gguf` Python package.
#include "quant/dequantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "quant/half.h"

namespace folio {
namespace {

using ::testing::Each;

class BlockBuilder {
 public:
  BlockBuilder& Half(float value) {
    const std::uint16_t bits = FloatToHalf(value);
    return Byte(bits & 0xff).Byte(bits >> 8);
  }
  BlockBuilder& Byte(int value, int times = 1) {
    bytes_.insert(bytes_.end(), static_cast<std::size_t>(times), static_cast<std::byte>(value));
    return *this;
  }
  std::vector<float> Values(GgmlType type) const {
    const GgmlTypeInfo& info = TypeInfo(type);
    EXPECT_EQ(bytes_.size() % static_cast<std::size_t>(info.block_bytes), 0U) << info.name;
    const std::size_t blocks = bytes_.size() / static_cast<std::size_t>(info.block_bytes);
    std::vector<float> out(blocks * static_cast<std::size_t>(info.block_elements), NAN);
    Dequantize(type, bytes_.data(), static_cast<std::int64_t>(out.size()), out.data());
    return out;
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(DequantizeTest, FloatTypesKeepTheirValues) {
  EXPECT_EQ(BlockBuilder().Byte(0, 2).Byte(0x80).Byte(0x3f).Values(GgmlType::kF32),
            std::vector<float>{1.0F});
  EXPECT_EQ(BlockBuilder().Half(-2.5F).Half(0.125F).Values(GgmlType::kF16),
            (std::vector<float>{-2.5F, 0.125F}));
  EXPECT_EQ(BlockBuilder().Byte(0x80).Byte(0xbf).Values(GgmlType::kBF16),
            std::vector<float>{-1.0F});
}

TEST(DequantizeTest, LowNibblesAreTheFirstHalfOfASmallBlock) {
  const std::vector<float> q4_0 = BlockBuilder().Half(2.0F).Byte(0xf3, 16).Values(GgmlType::kQ4_0);
  EXPECT_EQ(q4_0.front(), 2.0F * (3 - 8));
  EXPECT_EQ(q4_0[15], 2.0F * (3 - 8));
  EXPECT_EQ(q4_0[16], 2.0F * (15 - 8));
  const std::vector<float> q4_1 =
      BlockBuilder().Half(2.0F).Half(-1.0F).Byte(0xf3, 16).Values(GgmlType::kQ4_1);
  EXPECT_EQ(q4_1.front(), 5.0F);
  EXPECT_EQ(q4_1.back(), 29.0F);
}

TEST(DequantizeTest, FifthBitsFollowTheElementNumber) {
  // Bits 0 and 31 set.
  const std::vector<float> q5_0 =
      BlockBuilder().Half(1.0F).Byte(1).Byte(0, 2).Byte(0x80).Byte(0, 16).Values(GgmlType::kQ5_0);
  EXPECT_EQ(q5_0[0], 0.0F);
  EXPECT_EQ(q5_0[1], -16.0F);
  EXPECT_EQ(q5_0[31], 0.0F);
  const std::vector<float> q5_1 =
      BlockBuilder().Half(1.0F).Half(0.5F).Byte(1).Byte(0, 2).Byte(0x80).Byte(0, 16).Values(
          GgmlType::kQ5_1);
  EXPECT_EQ(q5_1[0], 16.5F);
  EXPECT_EQ(q5_1[1], 0.5F);
  EXPECT_EQ(q5_1[31], 16.5F);
}

TEST(DequantizeTest, Q8_0IsSigned) {
  EXPECT_THAT(BlockBuilder().Half(0.5F).Byte(0x80, 32).Values(GgmlType::kQ8_0), Each(-64.0F));
}

TEST(DequantizeTest, Q2_KScalesAndMinimaAreNibblesOfGroupsOfSixteen) {
  // Group 1: scale 3, minimum 2; all values 0b10_01_00_11 by run of 32.
  const std::vector<float> values = BlockBuilder()
                                        .Byte(0)
                                        .Byte(0x23)
                                        .Byte(0x01, 14)
                                        .Byte(0b10010011, 64)
                                        .Half(1.0F)
                                        .Half(0.5F)
                                        .Values(GgmlType::kQ2_K);
  EXPECT_EQ(values[0], 0.0F);
  EXPECT_EQ(values[16], 3.0F * 3 - 1.0F);
  EXPECT_EQ(values[32], 0.0F);
  EXPECT_EQ(values[64], 1.0F);
  EXPECT_EQ(values[96], 2.0F);
  EXPECT_EQ(values[128], 3.0F);
}

TEST(DequantizeTest, Q3_KSubtractsFourWhereTheMaskIsClear) {
  const auto with_mask = [](int mask) {
    return BlockBuilder().Byte(mask, 32).Byte(0xff, 64).Byte(0, 12).Half(1.0F).Values(
        GgmlType::kQ3_K);
  };
  EXPECT_THAT(with_mask(0xff), Each(-32.0F * 3));
  EXPECT_THAT(with_mask(0x00), Each(-32.0F * -1));
}

TEST(DequantizeTest, Q4_KUpperGroupsTakeTheirHighBitsFromTheLowerOnes) {
  // Byte 0: group 0's scale 1, and 0b10 for group 4; byte 4 likewise for minima with 0b01.
  const std::vector<float> values = BlockBuilder()
                                        .Half(1.0F)
                                        .Half(1.0F)
                                        .Byte(0x81)
                                        .Byte(0, 3)
                                        .Byte(0x42)
                                        .Byte(0, 3)
                                        .Byte(0x35)
                                        .Byte(0, 3)
                                        .Byte(0x21, 128)
                                        .Values(GgmlType::kQ4_K);
  EXPECT_EQ(values[0], 1.0F * 1 - 2);
  EXPECT_EQ(values[32], 0.0F);
  EXPECT_EQ(values[128], (5.0F + 32) * 1 - (3 + 16));
}

TEST(DequantizeTest, Mxfp4ScalesAreHalvedPowersOfTwoWithDenormals) {
  const auto first = [](int exponent, int nibble) {
    return BlockBuilder().Byte(exponent).Byte(nibble, 16).Values(GgmlType::kMXFP4)[0];
  };
  EXPECT_EQ(first(127, 1), 0.5F);
  EXPECT_EQ(first(127, 7), 6.0F);
  EXPECT_EQ(first(127, 15), -6.0F);
  EXPECT_EQ(first(0, 2), std::ldexp(1.0F, -127));
  EXPECT_EQ(first(1, 2), std::ldexp(1.0F, -126));
  EXPECT_EQ(first(254, 1), std::ldexp(1.0F, 126));
}

TEST(DequantizeTest, EveryBlockIsReadFromItsOwnBytes) {
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    const auto bytes = static_cast<std::size_t>(info.block_bytes);
    const auto elements = static_cast<std::size_t>(info.block_elements);
    // Three blocks in a buffer of exactly their size: a read or write outside shows under asan.
    std::vector<std::byte> blocks(3 * bytes);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(i * 37 % 60);
    std::vector<float> together(3 * elements, NAN);
    Dequantize(info.type, blocks.data(), static_cast<std::int64_t>(together.size()),
               together.data());
    for (std::size_t block = 0; block < 3; ++block) {
      std::vector<float> alone(elements, NAN);
      Dequantize(info.type, blocks.data() + block * bytes, info.block_elements, alone.data());
      EXPECT_EQ(
          std::memcmp(alone.data(), together.data() + block * elements, elements * sizeof(float)),
          0)
          << info.name;
    }
  }
}

}  // namespace
}  // namespace folio
