#include "sampling/counter_rng.h"

#include <array>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

RC_GTEST_PROP(CounterRngTest, StaysInTheUnitInterval,
              (std::uint64_t seed, std::uint32_t choice, std::int64_t position)) {
  const double u = UniformAt(seed, choice, position);
  RC_ASSERT(u >= 0.0 && u < 1.0);
  RC_ASSERT(u == UniformAt(seed, choice, position));
}

TEST(CounterRngTest, SeedChoiceAndPositionAreNotInterchangeable) {
  std::set<double> seen;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    for (std::uint32_t choice = 0; choice < 16; ++choice) {
      for (std::int64_t position = 0; position < 16; ++position) {
        seen.insert(UniformAt(seed, choice, position));
      }
    }
  }
  EXPECT_EQ(seen.size(), 16U * 16U * 16U);
}

// Pearson's chi-squared over 64 cells: with 63 degrees of freedom 130 is beyond one in a million.
double ChiSquared(const std::array<int, 64>& cells, int draws) {
  const double expected = draws / 64.0;
  double sum = 0;
  for (const int count : cells) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(CounterRngTest, ConsecutivePositionsAreUniform) {
  std::array<int, 64> cells{};
  for (int position = 0; position < 64000; ++position) {
    ++cells[static_cast<std::size_t>(UniformAt(7, 0, position) * 64)];
  }
  EXPECT_LT(ChiSquared(cells, 64000), 130);
}

TEST(CounterRngTest, NeighbouringSeedsAreIndependent) {
  std::array<int, 64> cells{};  // joint 8 x 8 cells of two neighbouring seeds
  for (int seed = 0; seed < 64000; ++seed) {
    const auto a = static_cast<std::size_t>(UniformAt(static_cast<std::uint64_t>(seed), 0, 5) * 8);
    const auto b =
        static_cast<std::size_t>(UniformAt(static_cast<std::uint64_t>(seed) + 1, 0, 5) * 8);
    ++cells[a * 8 + b];
  }
  EXPECT_LT(ChiSquared(cells, 64000), 130);
}

}  // namespace
}  // namespace folio
