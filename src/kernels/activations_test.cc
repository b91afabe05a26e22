#include "kernels/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/product.h"
#include "kernels/product_testing.h"

namespace folio {
namespace {

struct Converted {
  std::vector<std::byte> bytes;
  std::int64_t rows;
  std::int64_t blocks;

  ActivationTile Tile(std::int64_t first_row) {
    return LocateTile(bytes.data(), rows, blocks, first_row);
  }
};

Converted Convert(Isa isa, Numerics numerics, std::span<const float> x, std::int64_t rows,
                  std::int64_t k) {
  const test::Guarded<float> floats(x.size());
  std::memcpy(floats.data(), x.data(), x.size_bytes());
  const test::Guarded<std::byte> packed(ActivationBytes(rows, k));
  ThreadPool pool(1);
  ConvertActivations(isa, numerics, floats.data(), rows, k, packed.data(), pool);
  return {{packed.data(), packed.data() + packed.size()}, rows, (k + 31) / 32};
}

TEST(Activations, ABlocksLargestValueBecomesTheLimit) {
  std::vector<float> x(64, 0.5F);
  x[7] = -2.0F;
  x[40] = 3.0F;
  for (const auto& [numerics, limit] :
       {std::pair{Numerics::kInt8, 127}, std::pair{Numerics::kInt16, 32639}}) {
    Converted converted = Convert(Isa::kScalar, numerics, x, 1, 64);
    const ActivationTile tile = converted.Tile(0);
    EXPECT_EQ(tile.values[7], -limit);
    EXPECT_EQ(tile.values[40], limit);
    EXPECT_EQ(tile.factors[0].scale, 2.0F / static_cast<float>(limit));
    EXPECT_EQ(tile.factors[1].scale, 3.0F / static_cast<float>(limit));
  }
}

TEST(Activations, ValuesAreWithinHalfAStepAndSumsAreExact) {
  test::Random random(3);
  const std::int64_t rows = 11;
  const std::int64_t k = 96;
  std::vector<float> x(static_cast<std::size_t>(rows * k));
  test::FillActivations(random, x);
  for (const Numerics numerics : {Numerics::kInt8, Numerics::kInt16}) {
    Converted converted = Convert(Isa::kScalar, numerics, x, rows, k);
    for (std::int64_t row = 0; row < rows; ++row) {
      const ActivationTile tile = converted.Tile(row / kTileRows * kTileRows);
      for (std::int64_t block = 0; block < k / 32; ++block) {
        const std::int64_t at = block * tile.rows + row % kTileRows;
        const BlockFactors& factors = tile.factors[at];
        int sums[2] = {0, 0};
        for (int i = 0; i < 32; ++i) {
          const std::int16_t value = tile.values[at * 32 + i];
          sums[i / 16] += value;
          const double step = factors.scale;
          // Half a step, and the roundings of the inverse and of the product.
          ASSERT_NEAR(value * step, x[static_cast<std::size_t>(row * k + block * 32 + i)],
                      step * (0.5 + 32639 * 3e-7));
        }
        EXPECT_EQ(factors.half_sum[0], static_cast<float>(sums[0]));
        EXPECT_EQ(factors.half_sum[1], static_cast<float>(sums[1]));
        EXPECT_EQ(factors.sum, static_cast<float>(sums[0] + sums[1]));
      }
    }
  }
}

TEST(Activations, AShortLastBlockIsPaddedWithZeros) {
  const std::vector<float> x(40, 1.0F);
  Converted converted = Convert(Isa::kScalar, Numerics::kInt16, x, 1, 40);
  const ActivationTile tile = converted.Tile(0);
  EXPECT_EQ(tile.values[39], 32639);
  for (int i = 40; i < 64; ++i) EXPECT_EQ(tile.values[i], 0);
  EXPECT_EQ(tile.factors[1].sum, 8.0F * 32639.0F);
}

TEST(Activations, TinyBlocksAreZero) {
  std::vector<float> x(32, 1e-31F);
  Converted converted = Convert(Isa::kScalar, Numerics::kInt16, x, 1, 32);
  EXPECT_EQ(converted.Tile(0).factors[0].scale, 0.0F);
  EXPECT_EQ(converted.Tile(0).values[0], 0);
}

TEST(Activations, InfinityAndNanMakeTheScaleNan) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> x(64, 1.0F);
    x[33] = bad;
    for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
      if (!CpuHas(isa)) continue;
      Converted converted = Convert(isa, Numerics::kInt16, x, 1, 64);
      const ActivationTile tile = converted.Tile(0);
      EXPECT_EQ(tile.factors[0].scale, 1.0F / 32639.0F);
      EXPECT_TRUE(std::isnan(tile.factors[1].scale));
      for (int i = 32; i < 64; ++i) EXPECT_EQ(tile.values[i], 0);
    }
  }
}

TEST(Activations, EveryIsaGivesTheSameBytes) {
  test::Random random(4);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (!CpuHas(isa)) continue;
    for (const std::int64_t k : {1, 15, 31, 32, 33, 47, 64, 96, 576}) {
      for (const std::int64_t rows : {1, 2, 7, 8, 9, 19}) {
        std::vector<float> x(static_cast<std::size_t>(rows * k));
        test::FillActivations(random, x);
        x[0] = 1e-41F;  // denormal: counts as zero
        for (const Numerics numerics : {Numerics::kInt8, Numerics::kInt16}) {
          const Converted expected = Convert(Isa::kScalar, numerics, x, rows, k);
          const Converted got = Convert(isa, numerics, x, rows, k);
          ASSERT_EQ(got.bytes, expected.bytes) << IsaName(isa) << " k " << k << " rows " << rows;
        }
      }
    }
  }
}

}  // namespace
}  // namespace folio
