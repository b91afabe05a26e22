// Positions that are no rotation, and the rotation by three, against
// tests/golden/make_position_references.py.
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "golden/position_references.h"
#include "model/positions/alibi.h"
#include "model/positions/encoding.h"
#include "model/positions/learned.h"
#include "model/positions/mrope.h"
#include "model/positions/rope.h"
#include "model/positions/sinusoidal.h"

namespace folio {
namespace {

TEST(SinusoidalTest, ValuesAreThePaperFormulas) {
  std::size_t i = 0;
  for (const std::int64_t position : {0, 1, 24, 1000}) {
    for (const double value : SinusoidalPosition(position, 8))
      EXPECT_NEAR(value, kSinusoidal[i++], 1e-13);
  }
  EXPECT_EQ(i, kSinusoidal.size());
}

TEST(SinusoidalTest, IsAddedToAnEmbedding) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  AddSinusoidalPosition(1, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_FLOAT_EQ(x[i], static_cast<float>(i + 1) + static_cast<float>(kSinusoidal[8 + i]));
}

TEST(LearnedTest, TheRowOfThePositionIsAddedAndThereIsNoneBehindTheLast) {
  const std::vector<float> table = {1, 2, 10, 20, 100, 200};
  std::vector<float> x = {0.5F, 0.25F};
  ASSERT_TRUE(AddLearnedPosition(table, 2, x).has_value());
  EXPECT_EQ(x, (std::vector<float>{100.5F, 200.25F}));
  for (const std::int64_t position : {3, -1}) {
    const Status refused = AddLearnedPosition(table, position, x);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().Message().find("past the 3 positions"), std::string::npos);
  }
  EXPECT_EQ(x, (std::vector<float>{100.5F, 200.25F}));
}

template <std::size_t kHeads>
void ExpectSlopes(const std::array<double, kHeads>& wanted) {
  const std::vector<double> slopes = AlibiSlopes(kHeads);
  ASSERT_EQ(slopes.size(), kHeads);
  for (std::size_t i = 0; i < kHeads; ++i) EXPECT_NEAR(slopes[i] / wanted[i], 1.0, 1e-14) << i;
}

TEST(AlibiTest, SlopesArePublishedAlsoForCountsThatAreNoPowerOfTwo) {
  ExpectSlopes(kAlibi8);
  ExpectSlopes(kAlibi12);
  ExpectSlopes(kAlibi20);
  EXPECT_EQ(AlibiSlopes(8).front(), 0.5);  // exact where the paper's are
  EXPECT_EQ(AlibiSlopes(8).back(), 1.0 / 256);
}

TEST(AlibiTest, ABiasFallsWithTheDistanceAndNotWithThePosition) {
  EXPECT_EQ(AlibiBias(0.5, 10, 10), 0.0);
  EXPECT_EQ(AlibiBias(0.5, 10, 4), -3.0);
  EXPECT_EQ(AlibiBias(0.5, 1010, 1004), -3.0);
}

TEST(MropeTest, SectionsTurnByTheirOwnPosition) {
  const std::vector<double> frequencies = RopeFrequencies({.base = 1e6, .rotary_dim = 32});
  const std::vector<double> angles = MropeAngles(frequencies, {4, 6, 6}, {3, 5, 7});
  ASSERT_EQ(angles.size(), kMrope.size());
  for (std::size_t i = 0; i < angles.size(); ++i) EXPECT_NEAR(angles[i] / kMrope[i], 1.0, 1e-13);
  // A section may be empty.
  EXPECT_EQ(MropeAngles(frequencies, {0, 0, 16}, {3, 5, 7})[1], 7 * frequencies[1]);
}

TEST(MropeTest, OfTextIsRope) {
  const std::vector<double> frequencies = RopeFrequencies({.base = 1e6, .rotary_dim = 128});
  for (const std::int64_t position : {0, 1, 77, 32767}) {
    const auto angles = MropeAngles(frequencies, {16, 24, 24}, TextPosition(position));
    ASSERT_EQ(angles.size(), frequencies.size());
    for (std::size_t i = 0; i < angles.size(); ++i)
      EXPECT_EQ(angles[i], static_cast<double>(position) * frequencies[i]);
  }
}

TEST(EncodingTest, EachEntersALayerAtItsOwnPlaceOnly) {
  const std::vector<float> table(16, 0.25F);
  const std::vector<std::pair<PositionEncoding, std::string>> encodings = {
      {NoPositions{}, "none"},
      {LearnedPositions{table}, "learned"},
      {SinusoidalPositions{}, "sinusoidal"},
      {RotaryPositions{.rope = {.frequencies = {1.0, 0.5}}}, "rotary"},
      {AlibiPositions{.slopes = AlibiSlopes(2)}, "alibi"}};
  const std::vector<float> ones(4, 1.0F);
  for (const auto& [encoding, name] : encodings) {
    EXPECT_EQ(EncodingName(encoding), name);
    std::vector<float> x = ones;
    ASSERT_TRUE(AddToEmbedding(encoding, 3, x).has_value());
    EXPECT_EQ(x != ones, name == "learned" || name == "sinusoidal") << name;
    std::vector<float> head = ones;
    TurnHead(Isa::kScalar, encoding, 3, head);
    EXPECT_EQ(head != ones, name == "rotary") << name;
    EXPECT_EQ(ScoreBias(encoding, 1, 5, 2), name == "alibi" ? -3.0 / 256 : 0.0) << name;
  }
}

TEST(EncodingTest, ARotaryHeadTurnsByTheAngleTimesTheAttentionFactorAndLeavesTheRest) {
  const RotaryPositions rotary{.rope = {.frequencies = {0.5}, .attention_factor = 2.0}};
  std::vector<float> head = {1, 0, 7, 9};  // one pair of two: partial rotary
  TurnHead(Isa::kScalar, rotary, 3, head);
  EXPECT_NEAR(head[0], 2 * std::cos(1.5), 1e-6);
  EXPECT_NEAR(head[1], 2 * std::sin(1.5), 1e-6);
  EXPECT_EQ(head[2], 7);
  EXPECT_EQ(head[3], 9);
}

TEST(EncodingTest, APositionPastALearnedTableIsRefused) {
  const std::vector<float> table(8);
  std::vector<float> x(4);
  EXPECT_TRUE(AddToEmbedding(LearnedPositions{table}, 1, x).has_value());
  EXPECT_FALSE(AddToEmbedding(LearnedPositions{table}, 2, x).has_value());
}

}  // namespace
}  // namespace folio
