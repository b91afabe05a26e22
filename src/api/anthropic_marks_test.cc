#include "api/anthropic_marks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/anthropic_test_body.h"

namespace folio {
namespace {

using Marks = std::vector<CacheMark>;
constexpr auto kShort = CacheRetention::k5Minutes;
constexpr auto kLong = CacheRetention::k1Hour;

std::string Block(const std::string& text, const std::string& ttl) {
  return R"({"type":"text","text":")" + text + R"(","cache_control":{"type":"ephemeral","ttl":")" +
         ttl + R"("}})";
}
std::string User(const std::string& blocks) {
  return R"({"role":"user","content":[)" + blocks + "]}";
}
// A body of these members and messages.
ParsedMessages Parse(const std::string& members, const std::string& messages) {
  return ParseMessages(
      BodyOf(R"({"max_tokens":1,)" + members + R"("messages":[)" + messages + "]}"));
}
Marks MarksOf(const ParsedMessages& request) {
  EXPECT_TRUE(request.has_value()) << RefusalOf(request);
  return request ? request->api.marks : Marks{{.message = -9}};
}

TEST(AnthropicMarksTest, NameTheMessageThatTheyEnd) {
  const auto request = Parse(
      R"("tools":[{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral","ttl":"1h"}}],
         "system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],)",
      User(Block("a", "5m")) + R"(,{"role":"assistant","content":[{"type":"tool_use","id":"t",
         "name":"f","input":{},"cache_control":{"type":"ephemeral"}}]},)" +
          User(R"({"type":"tool_result","tool_use_id":"t"})"));
  EXPECT_EQ(MarksOf(request), (Marks{{.message = -1, .retention = kLong},
                                     {.message = 0, .retention = kLong},
                                     {.message = 1, .retention = kShort},
                                     {.message = 2, .retention = kShort}}));
  EXPECT_EQ(request->api.request.retention, kLong);
}

TEST(AnthropicMarksTest, AResultIsAMessageOfItsOwn) {
  const std::string results = R"({"type":"tool_result","tool_use_id":"a",
      "cache_control":{"type":"ephemeral"}},{"type":"tool_result","tool_use_id":"b",
      "content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]})";
  EXPECT_EQ(MarksOf(Parse("", User(results))), (Marks{{.message = 0}, {.message = 1}}));
  EXPECT_EQ(MarksOf(Parse("", User(results + "," + Block("then", "5m")))),
            (Marks{{.message = 0}, {.message = 1}, {.message = 2}}));
  // No text, no message: the mark is the last result's.
  EXPECT_EQ(MarksOf(Parse("", User(results + "," + Block("", "5m")))),
            (Marks{{.message = 0}, {.message = 1}}));
  EXPECT_EQ(MarksOf(Parse(R"("system":[)" + Block("", "5m") + "],", User(Block("a", "5m")))),
            (Marks{{.message = -1}, {.message = 0}}));
}

TEST(AnthropicMarksTest, OneAMessageForTheLongestTime) {
  EXPECT_EQ(MarksOf(Parse("", User(Block("a", "1h") + "," + Block("b", "5m")))),
            (Marks{{.message = 0, .retention = kLong}}));
}

TEST(AnthropicMarksTest, TheBodysOwnMarkIsTheLastMessages) {
  const std::string top = R"("cache_control":{"type":"ephemeral"},)";
  const std::string plain = R"({"role":"user","content":"hi"})";
  EXPECT_EQ(MarksOf(Parse(top, plain + "," + plain)), (Marks{{.message = 1}}));
  // Where the last block has one already, it adds none: these are four.
  const std::string four = User(Block("a", "5m") + "," + Block("b", "5m") + "," + Block("c", "5m") +
                                "," + Block("d", "5m"));
  EXPECT_EQ(MarksOf(Parse(top, four)), (Marks{{.message = 0}}));
  EXPECT_EQ(RefusalOf(Parse(top, four + "," + plain)),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}

TEST(AnthropicMarksTest, FiveAreRefused) {
  std::string blocks = Block("a", "5m");
  for (int i = 0; i < 3; ++i) blocks += "," + Block("a", "5m");
  EXPECT_EQ(RefusalOf(Parse("", User(blocks))), "");
  EXPECT_EQ(RefusalOf(Parse(R"("system":[)" + Block("s", "5m") + "],", User(blocks))),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.");
}

TEST(AnthropicMarksTest, AnyNumberIsCounted) {
  std::string messages = User(Block("a", "5m"));
  for (int i = 1; i < 20'000; ++i) messages += "," + User(Block("a", "5m"));
  EXPECT_EQ(RefusalOf(Parse(R"("cache_control":{"type":"ephemeral","ttl":"5m"},)", messages)),
            "A maximum of 4 blocks with cache_control may be provided. Found 20001.");
}

TEST(AnthropicMarksTest, ALongerTimeMustNotFollowAShorter) {
  const std::string why =
      "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note "
      "that blocks are processed in the following order: `tools`, `system`, `messages`.";
  EXPECT_EQ(RefusalOf(Parse("", User(Block("a", "5m") + "," + Block("b", "1h")))),
            "messages[0].content[1].cache_control.ttl: " + why);
  EXPECT_EQ(RefusalOf(Parse(R"("cache_control":{"type":"ephemeral","ttl":"1h"},)",
                            User(Block("a", "5m")))),
            "cache_control.ttl: " + why);
  EXPECT_EQ(RefusalOf(Parse(
                R"("tools":[{"name":"f","input_schema":{},"cache_control":{"type":"ephemeral"}}],)",
                User(Block("a", "1h")))),
            "messages[0].content[0].cache_control.ttl: " + why);
  EXPECT_EQ(RefusalOf(Parse(R"("system":[)" + Block("s", "1h") + "],", User(Block("a", "5m")))),
            "");
}

TEST(AnthropicMarksTest, WhatIsWrongIsNamedByItsPath) {
  const auto refusal = [](const std::string& control) {
    return RefusalOf(
        Parse("", User(R"({"type":"text","text":"a","cache_control":)" + control + "}")));
  };
  EXPECT_EQ(refusal(R"({"type":"ephemeral"})"), "");
  EXPECT_EQ(refusal("null"), "");
  EXPECT_EQ(refusal("true"), "messages[0].content[0].cache_control: is true, not an object");
  EXPECT_EQ(refusal("{}"), "messages[0].content[0].cache_control.type: is missing");
  EXPECT_EQ(refusal(R"({"type":"forever"})"),
            "messages[0].content[0].cache_control.type: is 'forever', not ephemeral");
  EXPECT_EQ(refusal(R"({"type":"ephemeral","ttl":"2h"})"),
            "messages[0].content[0].cache_control.ttl: is '2h', neither 5m nor 1h");
  EXPECT_EQ(refusal(R"({"type":"ephemeral","ttl":5})"),
            "messages[0].content[0].cache_control.ttl: is a number, not a string");
}

}  // namespace
}  // namespace folio
