#include "folio/text_table.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace folio {
namespace {

using ::testing::ElementsAre;

TEST(TextTable, NumbersStandInGroupsOfThree) {
  EXPECT_EQ(Grouped(std::uint64_t{0}), "0");
  EXPECT_EQ(Grouped(std::uint64_t{999}), "999");
  EXPECT_EQ(Grouped(std::uint64_t{14'745'600'000}), "14,745,600,000");
  EXPECT_EQ(Grouped(std::int64_t{-1000}), "-1,000");
  EXPECT_EQ(Grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table("lr");
  table.Add({"weights", "98"});
  table.Add({"é", "1,234"});
  table.Add({"KV", ""});
  EXPECT_THAT(table.Lines(), ElementsAre("weights     98", "é        1,234", "KV"));
}

TEST(TextTable, OneLineCutsBetweenCharacters) {
  EXPECT_EQ(OneLine("a\nb\tc", 10), "a b c");
  EXPECT_EQ(OneLine("éééééé", 6), "éééééé");
  EXPECT_EQ(OneLine("ééééééé", 6), "ééé...");
}

TEST(Wrapped, BreaksAtBlanksAndKeepsTheIndent) {
  EXPECT_THAT(Wrapped("", 8), ElementsAre(""));
  EXPECT_THAT(Wrapped("one two", 8), ElementsAre("one two"));
  EXPECT_THAT(Wrapped("  one two three", 9), ElementsAre("  one two", "  three"));
  EXPECT_THAT(Wrapped("éé éé éé", 5), ElementsAre("éé éé", "éé"));
}

TEST(Wrapped, AWordThatIsTooLongStays) {
  EXPECT_THAT(Wrapped("abcdefghij kl", 5), ElementsAre("abcdefghij kl"));
  EXPECT_THAT(Wrapped("  abcdefghij", 5), ElementsAre("  abcdefghij"));
}

TEST(TextTable, SignificantDigitsAreKeptHoweverSmallTheNumber) {
  EXPECT_EQ(Significant(0.00251, 2), "0.0025");
  EXPECT_EQ(Significant(6.66e-16, 2), "6.7e-16");
  EXPECT_EQ(Significant(0, 2), "0");
}

}  // namespace
}  // namespace folio
