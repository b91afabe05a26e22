#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

std::vector<std::string> ReadXml(std::string_view reply) {
  return Read({.syntax = {.calls = CallSyntax::kQwenXml}}, reply);
}

std::string Call(std::string_view key, std::string_view value) {
  return "<tool_call>\n<function=get_weather>\n<parameter=" + std::string(key) + ">\n" +
         std::string(value) + "\n</parameter>\n</function>\n</tool_call>";
}

std::vector<std::string> Told(std::string_view key, std::string_view json) {
  return {"call: get_weather {\"" + std::string(key) + "\": " + std::string(json) + "}"};
}

TEST(QwenXmlFormatTest, ArgumentsBecomeJson) {
  EXPECT_THAT(
      ReadXml("So:\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nBern \"Nord\"\n"
              "\\2\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n"
              "</tool_call>\n<tool_call>\n<function=mcp__now>\n</function>\n</tool_call>"),
      ElementsAre("text: So:", R"(call: get_weather {"city": "Bern \"Nord\"\n\\2", "days": 2})",
                  "call: mcp__now {}"));
}

TEST(QwenXmlFormatTest, TheSchemaTellsStringsFromTheRest) {
  EXPECT_EQ(ReadXml(Call("city", "2")), Told("city", "\"2\""));
  EXPECT_EQ(ReadXml(Call("maybe", "2")), Told("maybe", "\"2\""));
  EXPECT_EQ(ReadXml(Call("unit", "C")), Told("unit", "\"C\""));
  EXPECT_EQ(ReadXml(Call("unheard-of", "2")), Told("unheard-of", "\"2\""));
  EXPECT_EQ(ReadXml(Call("days", " 2")), Told("days", "2"));
  EXPECT_EQ(ReadXml(Call("either", "null")), Told("either", "null"));
  EXPECT_EQ(ReadXml(Call("list", "[1, {\"a\": null}]")), Told("list", "[1, {\"a\": null}]"));
  EXPECT_EQ(ReadXml(Call("flag", "True")), Told("flag", "true"));
  EXPECT_EQ(ReadXml(Call("either", "None")), Told("either", "null"));
  EXPECT_EQ(ReadXml(Call("days", "a few")), Told("days", "\"a few\""));
}

TEST(QwenXmlFormatTest, WhatWouldSpoilTheDocumentIsAString) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(ReadXml(Call("list", deep)), Told("list", "\"" + deep + "\""));
  const std::string inner = deep.substr(1, 126);
  EXPECT_EQ(ReadXml(Call("list", inner)), Told("list", inner));
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(ReadXml(Call("days", "2\0x"sv)), Told("days", R"("2\u0000x")"));
}

TEST(QwenXmlFormatTest, OnlyOneLineBreakAtEachEndIsTheTags) {
  EXPECT_EQ(ReadXml(Call("city", "\n a \n")), Told("city", R"("\n a \n")"));
  EXPECT_EQ(ReadXml(Call("city", "")), Told("city", R"("")"));
  EXPECT_THAT(ReadXml("<tool_call><function=f><parameter=a>x</parameter></function></tool_call>"),
              ElementsAre(R"(call: f {"a": "x"})"));
}

TEST(QwenXmlFormatTest, TagsInValuesAreTheValues) {
  EXPECT_EQ(ReadXml(Call("city", "</function></tool_call><parameter=x></para")),
            Told("city", R"("</function></tool_call><parameter=x></para")"));
}

TEST(QwenXmlFormatTest, TheOuterTagMayBeLeftOut) {
  EXPECT_THAT(
      ReadXml("Now\n<function=get_weather>\n<parameter=days>\n1\n</parameter>\n</function>"),
      ElementsAre("text: Now", R"(call: get_weather {"days": 1})"));
}

TEST(QwenXmlFormatTest, WhatBreaksBeforeTheNameIsText) {
  for (const std::string reply :
       {"<tool_call>\nfunction", "<tool_call>\n{\"name\": \"f\"}", "<function=a\nb>",
        "a <function=>", "<function=f", "<function f>"}) {
    EXPECT_THAT(ReadXml(reply), ElementsAre("text: " + reply));
  }
}

TEST(QwenXmlFormatTest, WhatBreaksLaterHasNoEnd) {
  EXPECT_THAT(ReadXml("<function=f>\n<parameter=a>\nx"), ElementsAre(R"(open: f {"a": "x)"));
  EXPECT_THAT(ReadXml("<function=f>text</function>\n</tool_call>\nb"),
              ElementsAre("open: f ", "text: b"));
  EXPECT_THAT(ReadXml("<function=f>\n<para"), ElementsAre("open: f "));
}

}  // namespace
}  // namespace folio
