#include "formats/json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace folio {
namespace {

std::string WhyRefused(std::string_view text, const JsonLimits& limits = {}) {
  const auto parsed = ParseJson(text, limits);
  return parsed ? "" : parsed.error().Message();
}

TEST(ParseJsonTest, MembersKeepTheirOrder) {
  const auto parsed = ParseJson(R"({"z": 1, "a": [true, null, -2.5, "\u00e9\u0000"]})");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(DumpJson(*parsed), R"({"z":1,"a":[true,null,-2.5,"é\u0000"]})");
}

TEST(ParseJsonTest, WhatIsNoJsonIsNamedByItsByte) {
  EXPECT_EQ(WhyRefused("{\"a\": tru}").substr(0, 19), "byte 10 is no JSON:");
  EXPECT_NE(WhyRefused("").find("end of input"), std::string::npos);
  EXPECT_NE(WhyRefused("{} {}").find("is no JSON"), std::string::npos);
  EXPECT_NE(WhyRefused("[1e999]").find("is no JSON"), std::string::npos);
  EXPECT_NE(WhyRefused("[NaN]").find("is no JSON"), std::string::npos);
}

TEST(ParseJsonTest, NulEndsNoText) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(WhyRefused("2\0{\"a\": 1}"sv), "byte 2 is no JSON: it is NUL");
  EXPECT_EQ(WhyRefused("{}\0"sv), "byte 3 is no JSON: it is NUL");
}

TEST(ParseJsonTest, WhatIsQuotedIsShort) {
  const std::string why = WhyRefused("[" + std::string(1 << 20, '9') + "]");
  EXPECT_NE(why.find("number overflow"), std::string::npos) << why;
  EXPECT_LT(why.size(), 300);
  EXPECT_LT(WhyRefused("[" + std::string(1 << 20, '\xe2')).size(), 300);
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xbc";
  for (const char* before : {"\"", "\"a"}) {
    const std::string quoted = WhyRefused(before + umlauts + "\x01\"");
    EXPECT_LT(quoted.size(), 300);
    EXPECT_EQ(DumpJson(Json(quoted)).find("\xef\xbf\xbd"), std::string::npos) << quoted;
  }
}

TEST(ParseJsonTest, OnlyUtf8IsText) {
  EXPECT_NE(WhyRefused("\"\xff\"").find("UTF-8"), std::string::npos);
  EXPECT_NE(WhyRefused("\"\xed\xa0\x80\"").find("UTF-8"), std::string::npos);  // a surrogate
  EXPECT_NE(WhyRefused(R"("\ud800")").find("surrogate"), std::string::npos);
  EXPECT_EQ(WhyRefused(R"("\ud83d\ude00")"), "");
}

TEST(ParseJsonTest, DepthIsBoundedHoweverLongTheText) {
  EXPECT_EQ(WhyRefused(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_EQ(WhyRefused(std::string(65, '[') + std::string(65, ']')), "nests deeper than 64 levels");
  EXPECT_EQ(WhyRefused(std::string(10 << 20, '[')), "nests deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(WhyRefused(objects), "nests deeper than 64 levels");
}

TEST(ParseJsonTest, ValuesMembersAndBytesAreBounded) {
  EXPECT_EQ(WhyRefused("[1,2]", {.values = 2}), "has more than 2 values");
  EXPECT_EQ(WhyRefused("[1,2]", {.values = 3}), "");
  EXPECT_EQ(WhyRefused(R"([{"a":1},[]])", {.containers = 2}), "has more than 2 objects and lists");
  EXPECT_EQ(WhyRefused(R"([{"a":1},[]])", {.containers = 3}), "");
  EXPECT_EQ(WhyRefused(R"({"a":1,"b":{"c":1,"d":2,"e":3}})", {.member_pairs = 3}),
            "has more than 3 pairs of members in its objects");
  EXPECT_EQ(WhyRefused(R"({"a":1,"b":{"c":1,"d":2,"e":3}})", {.member_pairs = 4}), "");
  EXPECT_EQ(WhyRefused("[1,2]", {.bytes = 4}), "has 5 bytes; at most 4 are taken");
}

TEST(ParseJsonTest, AnyTextIsParsedOrRefused) {
  rc::check([](const std::string& text) {
    const auto parsed = ParseJson(text);
    if (!parsed) RC_ASSERT(!parsed.error().Message().empty());
  });
  const std::string document = R"({"a":[1,"b\n",{"c":null}],"d":1.5e3})";
  rc::check([&](unsigned char byte) {
    std::string text = document;
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = static_cast<char>(byte);
    const auto parsed = ParseJson(text);
    if (!parsed) return;
    const auto again = ParseJson(DumpJson(*parsed));
    RC_ASSERT(again.has_value() && DumpJson(*again) == DumpJson(*parsed));
  });
}

}  // namespace
}  // namespace folio
