#include "base/checked.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace folio {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(CheckedTest, OverflowIsReported) {
  EXPECT_EQ(CheckedAdd<std::uint64_t>(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedMul<std::uint64_t>(kMax / 2, 3), std::nullopt);
  EXPECT_EQ(CheckedRoundUp<std::uint64_t>(kMax - 3, 32), std::nullopt);
}

TEST(CheckedTest, ExactResultsPass) {
  EXPECT_EQ(CheckedAdd<std::uint64_t>(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedMul<std::uint64_t>(6, 7), 42U);
  EXPECT_EQ(CheckedRoundUp<std::uint64_t>(33, 32), 64U);
}

}  // namespace
}  // namespace folio
