#include "formats/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace folio {
namespace {

TEST(Utf8Test, WellFormedTextOfEveryLengthIsValid) {
  for (const std::string_view text :
       {"", "plain", "a longer run of plain ASCII text", "gr\xc3\xbc\xc3\x9f",
        "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xf4\x8f\xbf\xbf", "\xc2\x80"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
  }
}

TEST(Utf8Test, ThePrefixEndsBeforeTheFirstFlaw) {
  const auto prefix = [](std::string_view flaw) {
    EXPECT_EQ(ValidUtf8Prefix("0123456789" + std::string(flaw) + "tail"), 10U);
    return ValidUtf8Prefix(flaw);
  };
  EXPECT_EQ(prefix("\x80"), 0U);              // a continuation alone
  EXPECT_EQ(prefix("\xc1\xbf"), 0U);          // overlong, two bytes
  EXPECT_EQ(prefix("\xe0\x9f\xbf"), 0U);      // overlong, three bytes
  EXPECT_EQ(prefix("\xf0\x8f\xbf\xbf"), 0U);  // overlong, four bytes
  EXPECT_EQ(prefix("\xed\xa0\x80"), 0U);      // a surrogate
  EXPECT_EQ(prefix("\xf4\x90\x80\x80"), 0U);  // above U+10FFFF
  EXPECT_EQ(prefix("\xf5\x80\x80\x80"), 0U);
  EXPECT_EQ(prefix("\xff"), 0U);
  EXPECT_EQ(prefix("\xe4\xb8"), 0U);  // cut short
}

}  // namespace
}  // namespace folio
