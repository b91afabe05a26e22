#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

// The same, whether the marks are control tokens or, in a vocabulary without them, text.
std::vector<std::string> ReadMarked(CallSyntax syntax, std::vector<std::string> marks,
                                    std::string_view reply) {
  const Reading plain{.syntax = {.calls = syntax}};
  Reading controls = plain;
  controls.controls = std::move(marks);
  controls.options.marks_are_controls = true;
  const auto lines = Read(plain, reply);
  EXPECT_EQ(Read(controls, reply), lines) << reply;
  return lines;
}

std::vector<std::string> ReadMistral(std::string_view reply) {
  return ReadMarked(CallSyntax::kMistral, {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}, reply);
}

TEST(MistralFormatTest, AListOfCalls) {
  EXPECT_THAT(ReadMistral(R"(Hm. [TOOL_CALLS] [{"name": "get_weather", "arguments": {"days": 1}, )"
                          R"("id": "abcdef123"}, {"name": "f", "arguments": {}}])"),
              ElementsAre("text: Hm.", R"(call: get_weather {"days": 1})", "call: f {}"));
}

TEST(MistralFormatTest, NamesInFrontOfArguments) {
  EXPECT_THAT(ReadMistral(R"(Hm.[TOOL_CALLS]get_weather[ARGS]{"days": 1}[TOOL_CALLS]f[CALL_ID])"
                          R"(abcdef123[ARGS]{} [TOOL_CALLS]g{"a": {}})"),
              ElementsAre("text: Hm.", R"(call: get_weather {"days": 1})", "call: f {}",
                          R"(call: g {"a": {}})"));
}

TEST(MistralFormatTest, OddCallsAreText) {
  for (const std::string reply :
       {"[TOOL_CALLS]", "[TOOL_CALLS] no name", "[TOOL_CALLS][]", "[TOOL_CALLS]f[ARGS]",
        "[TOOL_CALLS]f[ARGS]x{}", "[TOOL_CALLS]{\"a\": 1}", "[TOOL_CALLS]f\n{}", "[TOOL_CALLS][1]",
        "[TOOL_CALL", "[ARGS]", "a [TOOL_CALLS]f[X]{}"}) {
    EXPECT_THAT(ReadMistral(reply), ElementsAre("text: " + reply));
  }
}

TEST(MistralFormatTest, BrokenArgumentsHaveNoEnd) {
  EXPECT_THAT(ReadMistral("[TOOL_CALLS]f[ARGS]{a} more[TOOL_CALLS]g[ARGS]{}"),
              ElementsAre("open: f {", "call: g {}"));
  EXPECT_THAT(ReadMistral(R"([TOOL_CALLS][{"name": "f", "arguments": {}}, {"nam": 1}] a)"),
              ElementsAre("call: f {}", R"(text: {"nam": 1}] a)"));
}

TEST(MistralFormatTest, MarksSpelledInTextAreTextWhereTheyAreControlTokens) {
  const std::string reply = "[TOOL_CALLS]f[ARGS]{}";
  EXPECT_THAT(
      Read({.syntax = {.calls = CallSyntax::kMistral}, .options = {.marks_are_controls = true}},
           reply),
      ElementsAre("text: " + reply));
}

TEST(GraniteFormatTest, AListBehindAToken) {
  const auto read = [](std::string_view reply) {
    return ReadMarked(CallSyntax::kGranite, {"<|tool_call|>", "<|/tool_call|>"}, reply);
  };
  EXPECT_THAT(read(R"(<|tool_call|>[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}])"),
              ElementsAre(R"(call: f {"a": 1})", "call: g {}"));
  EXPECT_THAT(read("<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]<|/tool_call|>"),
              ElementsAre("call: f {}"));
  EXPECT_THAT(read("<|tool_call|> of a phone"), ElementsAre("text: <|tool_call|> of a phone"));
}

}  // namespace
}  // namespace folio
