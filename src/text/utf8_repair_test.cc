#include "text/utf8_repair.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

std::string Repaired(std::string_view bytes) {
  std::string text;
  EXPECT_EQ(AppendRepaired(bytes, /*at_end=*/true, text), bytes.size());
  return text;
}

// The examples of the Unicode Standard, table 3-8 and those before it.
TEST(Utf8Repair, EachMaximalPartBecomesOneReplacement) {
  EXPECT_EQ(Repaired("plain \u00FC \u4F60 \U0001F600"), "plain \u00FC \u4F60 \U0001F600");
  EXPECT_EQ(Repaired("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(Repaired("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Repaired("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42");
  EXPECT_EQ(Repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFD\x41");
}

TEST(Utf8Repair, AnUnfinishedCharacterWaitsForMore) {
  std::string text;
  EXPECT_EQ(AppendRepaired("a\xF0\x9F\x98", /*at_end=*/false, text), 1U);
  EXPECT_EQ(text, "a");
  text.clear();
  EXPECT_EQ(AppendRepaired("\xF0\x9F\x98\x80\xE4", /*at_end=*/false, text), 4U);
  EXPECT_EQ(text, "\U0001F600");
}

}  // namespace
}  // namespace folio
