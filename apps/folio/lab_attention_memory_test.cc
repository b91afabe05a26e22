#include "folio/lab_attention_memory.h"

#include <sys/mman.h>

#include <cmath>

#include <gtest/gtest.h>

#include "cpu/aligned_buffer.h"
#include "folio/lab_attention_pages.h"

namespace folio {
namespace {

TEST(TwoTiers, WhatCrossesIsCountedInTheSlowMatrixsElements) {
  TwoTiers tiers(4096);
  SlowMatrix halves = MakeSlow(8, 4, std::vector<float>(32, 1.5F));
  SlowMatrix floats = MakeSlow(8, 4, Element::kFloat);
  FastBlock block = tiers.Claim(2, 4, Element::kHalf);
  tiers.Load(halves, {.row = 6, .col = 1, .rows = 2, .cols = 3}, block);
  EXPECT_EQ(tiers.traffic().read, 12U);
  EXPECT_EQ(block.row(1)[2], 1.5F);
  EXPECT_EQ(block.row(1)[3], 0.0F);
  tiers.Store(block, {.row = 0, .col = 0, .rows = 2, .cols = 3}, floats);
  EXPECT_EQ(tiers.traffic().written, 24U);
  EXPECT_EQ(floats.bytes_written, 24U);
  EXPECT_EQ(halves.bytes_read, 12U);
  EXPECT_EQ(floats.row(1)[2], 1.5F);
}

TEST(TwoTiers, StoredHalvesAreRounded) {
  TwoTiers tiers(64);
  SlowMatrix halves = MakeSlow(1, 1, Element::kHalf);
  FastBlock block = tiers.Claim(1, 1, Element::kFloat);
  *block.row(0) = 2049.0F;  // FP16 has 2048 and 2050
  tiers.Store(block, {.rows = 1, .cols = 1}, halves);
  EXPECT_EQ(*halves.row(0), 2048.0F);
}

TEST(TwoTiers, FastMemoryIsEnforcedToTheByte) {
  TwoTiers tiers(100);
  tiers.Claim(5, 5, Element::kFloat);
  EXPECT_TRUE(tiers.Fits());
  tiers.Claim(1, 1, Element::kByte);
  const Status fits = tiers.Fits();
  ASSERT_FALSE(fits);
  EXPECT_NE(fits.error().Message().find("101"), std::string::npos);
}

TEST(TwoTiers, AReleasedBufferLeavesRoomAndThePeakStays) {
  TwoTiers tiers(100);
  tiers.Claim(5, 5, Element::kFloat);
  tiers.Release();
  tiers.Claim(5, 5, Element::kHalf);
  EXPECT_TRUE(tiers.Fits());
  EXPECT_EQ(tiers.peak_bytes(), 100U);
}

TEST(TwoTiers, OnlyAFiniteValueThatBecomesInfiniteIsAnOverflow) {
  TwoTiers tiers(1);
  EXPECT_TRUE(std::isfinite(tiers.Half(std::exp(11.0F))));
  EXPECT_EQ(tiers.overflows(), 0);
  EXPECT_TRUE(std::isinf(tiers.Half(std::exp(12.0F))));
  EXPECT_TRUE(std::isinf(tiers.Half(HUGE_VALF)));
  EXPECT_EQ(tiers.overflows(), 1);
}

// Reads the first byte of pages [first, first + count).
int Touch(const AlignedBuffer& buffer, std::size_t first, std::size_t count) {
  int sum = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    sum += static_cast<int>(*static_cast<volatile std::byte*>(buffer.data() + i * 4096));
  }
  return sum;
}

TEST(PageTrace, APageThatFitsComesInOnce) {
  const auto buffer = AlignedBuffer::Create(16 * 4096, "test");
  ASSERT_TRUE(buffer);
  const auto trace = PageTrace::Start(buffer->bytes(), 8 * 4096);
  ASSERT_TRUE(trace);
  for (int i = 0; i < 3; ++i) Touch(*buffer, 2, 8);
  EXPECT_EQ((*trace)->bytes_read(), 8U * 4096);
}

TEST(PageTrace, WhereOnePageTooManyIsSweptAllComeInAnew) {
  const auto buffer = AlignedBuffer::Create(16 * 4096, "test");
  ASSERT_TRUE(buffer);
  const auto trace = PageTrace::Start(buffer->bytes(), 8 * 4096);
  ASSERT_TRUE(trace);
  for (int i = 0; i < 3; ++i) Touch(*buffer, 0, 9);
  EXPECT_EQ((*trace)->bytes_read(), 27U * 4096);
}

TEST(PageTrace, AfterwardsTheBufferIsAsItWas) {
  const auto buffer = AlignedBuffer::Create(16 * 4096, "test");
  ASSERT_TRUE(buffer);
  buffer->data()[5 * 4096] = std::byte{7};
  {
    const auto trace = PageTrace::Start(buffer->bytes(), 4 * 4096);
    ASSERT_TRUE(trace);
    EXPECT_FALSE(PageTrace::Start(buffer->bytes(), 4 * 4096));  // one at a time
    EXPECT_EQ(Touch(*buffer, 0, 16), 7);
  }
  EXPECT_EQ(Touch(*buffer, 0, 16), 7);
  EXPECT_TRUE(PageTrace::Start(buffer->bytes(), 4 * 4096));
}

TEST(PageTraceDeathTest, AFaultElsewhereStillEndsTheProcess) {
  const auto buffer = AlignedBuffer::Create(4096, "test");
  ASSERT_TRUE(buffer);
  void* const elsewhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(elsewhere, MAP_FAILED);
  EXPECT_DEATH(
      {
        const auto trace = PageTrace::Start(buffer->bytes(), 4096);
        *static_cast<volatile char*>(elsewhere) = 1;
      },
      "");
  munmap(elsewhere, 4096);
}

}  // namespace
}  // namespace folio
