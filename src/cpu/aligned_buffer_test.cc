#include "cpu/aligned_buffer.h"

#include <cstdint>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(AlignedBufferTest, StartsZeroedOnAHugePage) {
  const Result<AlignedBuffer> buffer = AlignedBuffer::Create(5 << 20, "test");
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % (2 << 20), 0U);
  EXPECT_EQ(buffer->data()[(5 << 20) - 1], std::byte{0});
}

TEST(AlignedBufferTest, MoveLeavesTheSourceEmpty) {
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(100, "test");
  ASSERT_TRUE(buffer.has_value());
  const AlignedBuffer moved = std::move(*buffer);
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_EQ(moved.size(), 100U);
}

TEST(AlignedBufferTest, AnImpossibleSizeIsAnErrorThatNamesThePurpose) {
  const Result<AlignedBuffer> buffer =
      AlignedBuffer::Create(std::numeric_limits<std::size_t>::max() - 10, "KV cache");
  ASSERT_FALSE(buffer.has_value());
  EXPECT_NE(buffer.error().Message().find("KV cache"), std::string::npos);
}

}  // namespace
}  // namespace folio
