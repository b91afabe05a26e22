#include "model/positions.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(RopePositionsTest, AnglesAreThePositionTimesTheFrequencyAndScaledByTheAttentionFactor) {
  ModelConfig config;
  config.ropes = {
      {.base = 1e4, .rotary_dim = 8},
      {.base = 1e4,
       .rotary_dim = 4,
       .scaling = LinearScaling{.factor = 2.0},
       .frequency_factors = {1.0F, 4.0F}},
      {.base = 1e4,
       .rotary_dim = 4,
       .scaling = YarnScaling{.factor = 1.0, .original_context = 64, .attention_factor = 1.5}}};
  RopePositions positions(config, /*max_rows=*/5, /*max_context=*/1024);
  ThreadPool pool(2);
  const std::array<AttentionSequence, 2> sequences = {
      {{.first_position = 7, .first_row = 0, .rows = 2},
       {.first_position = 100, .first_row = 2, .rows = 3}}};
  positions.Fill(sequences, pool);
  const std::array<double, 5> at = {7, 8, 100, 101, 102};
  for (std::int64_t row = 0; row < 5; ++row) {
    const double position = at[static_cast<std::size_t>(row)];
    EXPECT_NEAR(positions.cosines(0, row)[0], std::cos(position), 1e-7);
    EXPECT_NEAR(positions.sines(0, row)[3], std::sin(position * 1e-3), 1e-7);
    EXPECT_NEAR(positions.sines(1, row)[0], std::sin(position / 2), 1e-7);
    EXPECT_NEAR(positions.sines(1, row)[1], std::sin(position / 2 / 100 / 4), 1e-7);
    EXPECT_NEAR(positions.cosines(2, row)[1], 1.5 * std::cos(position / 100), 1e-7);
    EXPECT_NEAR(positions.sines(2, row)[0], 1.5 * std::sin(position), 1e-7);
  }
}

TEST(RopePositionsTest, AnEmbeddingWithoutDimensionsTakesNoMemory) {
  ModelConfig config;
  config.ropes = {{.rotary_dim = 0}};
  EXPECT_EQ(RopePositions::Bytes(config, 512), 0U);
}

}  // namespace
}  // namespace folio
