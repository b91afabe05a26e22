#include "api/reply_parser/json_scanner.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace folio {
namespace {

// Where the value ends; nothing if it is invalid or goes on.
std::optional<std::size_t> EndOf(std::string_view text, bool raw_controls = false) {
  JsonScanner scanner(raw_controls);
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (scanner.Take(text[i])) {
      case JsonScanner::Step::kMore:
        break;
      case JsonScanner::Step::kEnd:
        return i + 1;
      case JsonScanner::Step::kEndBefore:
        return i;
      case JsonScanner::Step::kInvalid:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

TEST(JsonScannerTest, ValuesEndWhereTheyDo) {
  for (const std::string_view value :
       {"{}", "[]", " { \"a\" : [ 1 , -2.5e+3, 0 ] }", "\"a\\\"\\u00e9\\ud83d\\ude00\"", "true",
        "false", "null", "[[],{}]", "[1]", "{\"a\":{\"b\":{}},\"c\":null}", "[1.0,0e5,1E-400]"}) {
    EXPECT_EQ(EndOf(std::string(value) + "}]x"), value.size()) << value;
  }
  EXPECT_EQ(EndOf("12,"), 2U);
  EXPECT_EQ(EndOf("-0.5e1 "), 6U);
}

TEST(JsonScannerTest, WhatIsNoJsonIsInvalid) {
  for (const std::string_view text : {"x",
                                      "{a",
                                      "{\"a\" 1",
                                      "{\"a\":1,}",
                                      "[1,]",
                                      "[1 2",
                                      "[}",
                                      "{]",
                                      "{1",
                                      "[01]",
                                      "-a",
                                      "1.a",
                                      "1e+a",
                                      ".5",
                                      "+1",
                                      "tru ",
                                      "nulL",
                                      "\"\\x",
                                      "\"\\u12g",
                                      "\"\\ud800\"",
                                      "\"\\ude00\"",
                                      "\"\\ud800\\n",
                                      "\"\\ud800\\ud800\"",
                                      "\"\n",
                                      "{\"a\":1 \"b\"",
                                      "[1e309]",
                                      "[1e99999999999]"}) {
    EXPECT_EQ(EndOf(text), std::nullopt) << text;
    EXPECT_FALSE(ParseJson(text)) << text;
  }
}

TEST(JsonScannerTest, DepthIsThatOfParseJson) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(EndOf(deep), deep.size());
  EXPECT_TRUE(ParseJson(deep));
  EXPECT_EQ(EndOf("[" + deep + "]"), std::nullopt);
  EXPECT_FALSE(ParseJson("[" + deep + "]"));
}

TEST(JsonScannerTest, ControlCharactersAreLetPassInStringsOnly) {
  EXPECT_EQ(EndOf("\"a\n\"", true), 4U);
  EXPECT_EQ(EndOf("[\x01", true), std::nullopt);
  EXPECT_EQ(EndOf("\"\\\n", true), std::nullopt);
}

// Random documents of JSON's characters: those that the scanner finds whole are those that
// ParseJson reads.
TEST(JsonScannerTest, AgreesWithParseJson) {
  constexpr std::string_view kParts[] = {"{",  "}", "[",       "]",    ",",    ":",     "\"a\"",
                                         "1",  "0", "-",       ".",    "e-5",  " ",     "\"",
                                         "\\", "n", "\\u00e9", "null", "true", "\"b\":"};
  std::mt19937 random(7);
  int whole = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (auto parts = 1 + random() % 8; parts > 0; --parts) {
      text += kParts[random() % std::size(kParts)];
    }
    const auto end = EndOf(text + "\n");
    const bool valid = ParseJson(text).has_value();
    if (valid) {
      ASSERT_TRUE(end) << text;
      EXPECT_TRUE(*end <= text.size()) << text;
    }
    if (!end) continue;
    EXPECT_TRUE(ParseJson(text.substr(0, *end))) << text;
    ++whole;
  }
  EXPECT_GT(whole, 5'000);
}

}  // namespace
}  // namespace folio
