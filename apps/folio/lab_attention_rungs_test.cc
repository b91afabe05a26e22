#include "folio/lab_attention_rungs.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

constexpr std::uint64_t kFast = 1 << 20;
constexpr Rung kRungs[] = {Rung::kThreePass, Rung::kSafeThreePass, Rung::kFusedUnsafe,
                           Rung::kOnlineTwoPass, Rung::kOnePass};

RungResult RunIn(Rung rung, const AttentionInputs& inputs, Tile tile) {
  const Result<RungResult> result = RunRung(rung, inputs, tile, kFast);
  EXPECT_TRUE(result) << RungName(rung);
  return result.value_or(RungResult{});
}

TEST(AttentionRungs, EachAgreesWithFloat64InEveryTile) {
  for (const std::int64_t tokens : {1, 2, 17, 64, 100}) {
    const AttentionInputs inputs = MakeInputs(tokens, 32, 5, 1.0F);
    const std::vector<double> reference = ReferenceAttention(inputs);
    for (const Rung rung : kRungs) {
      for (const Tile tile : {Tile{}, Tile{.queries = 3, .keys = 5}, Tile{.queries = 32, .keys = 1},
                              Tile{.queries = 1, .keys = 64}, Tile{.queries = 128, .keys = 128}}) {
        const OutputDifference difference =
            CompareOutput(RunIn(rung, inputs, tile).out, reference, 32);
        EXPECT_EQ(difference.rows_lost, 0);
        EXPECT_LT(difference.largest, 4e-3)
            << RungName(rung) << " " << tokens << " " << tile.queries << "x" << tile.keys;
      }
    }
  }
}

TEST(AttentionRungs, PassesAreThreeThreeTwoOne) {
  const AttentionInputs inputs = MakeInputs(48, 32, 1, 1.0F);
  const auto passes = [&](Rung rung, Tile tile) { return RunIn(rung, inputs, tile).passes; };
  for (const Tile tile : {Tile{}, Tile{.queries = 16, .keys = 8}}) {
    EXPECT_EQ(passes(Rung::kThreePass, tile), 3);
    EXPECT_EQ(passes(Rung::kSafeThreePass, tile), 3);
    EXPECT_EQ(passes(Rung::kOnlineTwoPass, tile), 2);
    EXPECT_EQ(passes(Rung::kOnePass, tile), 1);
  }
  EXPECT_EQ(RunIn(Rung::kOnlineTwoPass, inputs, {}).k_reads, 2);
  EXPECT_EQ(RunIn(Rung::kOnlineTwoPass, inputs, {}).v_reads, 1);
}

// What the count must come to, worked out by hand for one small case.
TEST(AttentionRungs, TrafficIsWhatTheLoopsMove) {
  constexpr std::uint64_t n = 16;
  constexpr std::uint64_t d = 32;
  const AttentionInputs inputs = MakeInputs(n, d, 1, 1.0F);
  const RungResult vectors = RunIn(Rung::kOnePass, inputs, {});
  EXPECT_EQ(vectors.traffic.read, 2 * (n * d + 2 * n * n * d));
  EXPECT_EQ(vectors.traffic.written, 2 * n * d);
  const RungResult tiles = RunIn(Rung::kOnePass, inputs, {.queries = 8, .keys = 4});
  EXPECT_EQ(tiles.traffic.read, 2 * (n * d + 2 * n / 8 * n * d));
  EXPECT_EQ(tiles.kv_bytes, 2 * 2 * n / 8 * n * d);
  const RungResult tables = RunIn(Rung::kSafeThreePass, inputs, {.queries = 8, .keys = 4});
  EXPECT_EQ(tables.table_bytes, 2 * 4 * n * n);
  EXPECT_EQ(tables.traffic.total(), tiles.traffic.total() + tables.table_bytes);
}

TEST(AttentionRungs, ProductsAreCountedAsTheyAreDone) {
  constexpr std::int64_t n = 16;
  constexpr std::int64_t d = 32;
  const AttentionInputs inputs = MakeInputs(n, d, 1, 1.0F);
  EXPECT_EQ(RunIn(Rung::kThreePass, inputs, {}).operations.multiply_adds, 2 * n * n * d);
  EXPECT_EQ(RunIn(Rung::kOnlineTwoPass, inputs, {}).operations.multiply_adds, 3 * n * n * d);
  EXPECT_EQ(RunIn(Rung::kOnePass, inputs, {}).operations.multiply_adds, 2 * n * n * d);
  EXPECT_GE(RunIn(Rung::kOnePass, inputs, {.queries = 8, .keys = 8}).operations.total(),
            RunIn(Rung::kThreePass, inputs, {.queries = 8, .keys = 8}).operations.total());
}

TEST(AttentionRungs, LargeScoresOverflowOnlyWhereTheMaximumStays) {
  const AttentionInputs inputs = MakeInputs(128, 32, 0, 2.0F);
  const std::vector<double> reference = ReferenceAttention(inputs);
  for (const Rung rung : kRungs) {
    const bool unsafe = rung == Rung::kThreePass || rung == Rung::kFusedUnsafe;
    const RungResult result = RunIn(rung, inputs, {});
    const OutputDifference difference = CompareOutput(result.out, reference, 32);
    EXPECT_EQ(result.overflows > 0, unsafe) << RungName(rung);
    EXPECT_EQ(difference.rows_lost > 0, unsafe) << RungName(rung);
    EXPECT_LT(difference.largest, 1e-2) << RungName(rung);
  }
}

TEST(AttentionRungs, ATileThatDoesNotFitIsRefused) {
  const AttentionInputs inputs = MakeInputs(64, 32, 1, 1.0F);
  const std::int64_t largest = LargestTile(32, 16384, 64);
  EXPECT_EQ(largest, 32);
  const auto run = [&](std::int64_t tile) {
    return RunRung(Rung::kOnePass, inputs, {.queries = tile, .keys = tile}, 16384);
  };
  ASSERT_TRUE(run(largest));
  EXPECT_LE(run(largest)->peak_bytes, 16384U);
  EXPECT_FALSE(run(2 * largest));
  EXPECT_EQ(LargestTile(32, 100, 64), 0);
}

}  // namespace
}  // namespace folio
