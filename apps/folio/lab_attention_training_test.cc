#include "folio/lab_attention_training.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

constexpr std::uint64_t kFast = 1 << 20;
constexpr ScoreRules kAllRules[] = {
    {}, {.causal = true}, {.dropout = true}, {.causal = true, .dropout = true}};

TEST(AttentionTraining, BothWaysGiveTheGradientsOfFloat64) {
  const TrainingInputs inputs = MakeTrainingInputs(150, 32, 3);
  for (const ScoreRules rules : kAllRules) {
    const TrainingReference reference = ReferenceTraining(inputs, rules);
    const Result<TrainingResult> standard = StandardTraining(inputs, rules, kFast);
    ASSERT_TRUE(standard);
    EXPECT_LT(LargestDifference(*standard, reference), 2e-3);
    for (const Tile tile : {Tile{.queries = 32, .keys = 48}, Tile{.queries = 7, .keys = 200}}) {
      const Result<TrainingResult> flash = FlashTraining(inputs, rules, tile, kFast);
      ASSERT_TRUE(flash);
      EXPECT_LT(LargestDifference(*flash, reference), 3e-3);
    }
  }
}

// The reference's gradient against its own output, nudged.
TEST(AttentionTraining, TheReferenceIsTheDerivative) {
  const ScoreRules rules{.causal = true, .dropout = true};
  TrainingInputs inputs = MakeTrainingInputs(12, 32, 4);
  const TrainingReference reference = ReferenceTraining(inputs, rules);
  const auto loss = [&] {
    const TrainingReference now = ReferenceTraining(inputs, rules);
    double sum = 0;
    for (std::size_t i = 0; i < now.out.size(); ++i) sum += now.out[i] * double{inputs.d_out[i]};
    return sum;
  };
  const auto check = [&](std::vector<float>& values, const std::vector<double>& gradient) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{77}, std::size_t{200}}) {
      const float kept = values[at];
      values[at] = kept + 0x1p-10F;
      const double above = loss();
      values[at] = kept - 0x1p-10F;
      const double below = loss();
      values[at] = kept;
      EXPECT_NEAR((above - below) / 0x1p-9, gradient[at], 1e-5);
    }
  };
  check(inputs.forward.q, reference.dq);
  check(inputs.forward.k, reference.dk);
  check(inputs.forward.v, reference.dv);
}

// Reads and writes of n x n tables and of n x d matrices, as the algorithms list them.
TEST(AttentionTraining, StandardTrafficIsItsKernelsTables) {
  constexpr std::uint64_t n = 128;
  constexpr std::uint64_t d = 32;
  const TrainingInputs inputs = MakeTrainingInputs(n, d, 1);
  const auto moved = [&](ScoreRules rules) {
    return StandardTraining(inputs, rules, kFast).value_or(TrainingResult{}).both.total();
  };
  const std::uint64_t matrices = 12 * n * d * 2;
  EXPECT_EQ(moved({}), matrices + 11 * n * n * 2);
  EXPECT_EQ(moved({.causal = true}), matrices + 13 * n * n * 2);
  EXPECT_EQ(moved({.causal = true, .dropout = true}), matrices + 18 * n * n * 2);
}

TEST(AttentionTraining, FlashTrafficFallsWithTheTilesOfKeys) {
  constexpr std::uint64_t n = 128;
  constexpr std::uint64_t d = 32;
  const TrainingInputs inputs = MakeTrainingInputs(n, d, 1);
  for (const std::int64_t keys : {16, 32, 128}) {
    const auto result = FlashTraining(inputs, {}, {.queries = 32, .keys = keys}, kFast);
    ASSERT_TRUE(result);
    const std::uint64_t sweeps = n / static_cast<std::uint64_t>(keys);
    const std::uint64_t state = 2 * 4 * n;
    EXPECT_EQ(result->forward.total(), (1 + 2 + 3 * sweeps) * n * d * 2 + (1 + 2 * sweeps) * state);
    EXPECT_EQ(result->both.total() - result->forward.total(),
              (3 + 4 + 5 * sweeps) * n * d * 2 + sweeps * state);
  }
}

TEST(AttentionTraining, FlashComputesTheScoresTwice) {
  const TrainingInputs inputs = MakeTrainingInputs(64, 32, 1);
  const auto standard = StandardTraining(inputs, {}, kFast);
  const auto flash = FlashTraining(inputs, {}, {.queries = 32, .keys = 32}, kFast);
  ASSERT_TRUE(standard && flash);
  EXPECT_EQ(standard->operations.multiply_adds, 6 * 64 * 64 * 32);
  EXPECT_EQ(flash->operations.multiply_adds, 7 * 64 * 64 * 32);
}

TEST(AttentionTraining, TilesThatDoNotFitAreRefused) {
  const TrainingInputs inputs = MakeTrainingInputs(64, 32, 1);
  EXPECT_FALSE(FlashTraining(inputs, {}, {.queries = 64, .keys = 64}, 8192));
  EXPECT_FALSE(StandardTraining(inputs, {}, 4096));
}

TEST(AttentionTraining, ThePapersTileIsAQuarterOfFastMemory) {
  const Tile tile = PaperTile(std::uint64_t{192} << 10, 64);
  EXPECT_EQ(tile.keys, 384);
  EXPECT_EQ(tile.queries, 64);
  EXPECT_EQ(PaperTile(4096, 64).queries, 8);
}

}  // namespace
}  // namespace folio
