#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

// The same, whether the tags are control tokens of the vocabulary or not.
std::vector<std::string> ReadHermes(std::string_view reply) {
  const Reading plain{.syntax = {.calls = CallSyntax::kHermes}};
  Reading controls = plain;
  controls.controls = {"<tool_call>", "</tool_call>"};
  controls.options.marks_are_controls = true;
  const auto lines = Read(plain, reply);
  EXPECT_EQ(Read(controls, reply), lines) << reply;
  return lines;
}

TEST(HermesFormatTest, CallsAreFoundBehindText) {
  EXPECT_THAT(ReadHermes("So:\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
                         "\"Zürich\", \"days\": 2}}\n</tool_call>\n<tool_call>\n{\"name\": "
                         "\"mcp__now\", \"arguments\": {}}\n</tool_call>"),
              ElementsAre("text: So:", R"(call: get_weather {"city": "Zürich", "days": 2})",
                          "call: mcp__now {}"));
}

TEST(HermesFormatTest, TextBehindACallIsText) {
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n\nDone. "),
              ElementsAre("call: f {}", "text: Done. "));
}

TEST(HermesFormatTest, PlainTextIsKeptAsItIs) {
  for (const std::string text :
       {"\n a <b> < tool_call>\n\n", "<tool_cal", "<<tool_call", "}\n{\"name\": 1}", "  ", "<",
        "</tool_call>", "a                                     b", "日本<語"}) {
    EXPECT_THAT(ReadHermes(text), ElementsAre("text: " + text));
  }
  EXPECT_THAT(ReadHermes(""), ElementsAre());
}

TEST(HermesFormatTest, MembersComeInAnyOrder) {
  EXPECT_THAT(ReadHermes("<tool_call>{\"id\": [1, {\"name\": 2}, -1.5e3], \"arguments\": {\"a\": "
                         "[1]}, \"name\": \"f\"}</tool_call>"),
              ElementsAre(R"(call: f {"a": [1]})"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"n\": 12, \"name\": \"f\"}</tool_call>"),
              ElementsAre("call: f {}"));
}

TEST(HermesFormatTest, ATagInAStringIsTheStrings) {
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": "
                         "\"</tool_call><tool_call>\\\"}\"}}</tool_call>"),
              ElementsAre(R"(call: f {"a": "</tool_call><tool_call>\"}"})"));
}

TEST(HermesFormatTest, LineBreaksInStringsAreEscaped) {
  EXPECT_THAT(
      ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\n\ty\"}}</tool_call>"),
      ElementsAre(R"(call: f {"a": "x\n\ty"})"));
}

TEST(HermesFormatTest, ArgumentsAsTextAreReadFromIt) {
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}"),
              ElementsAre(R"(call: f {"a": 1})"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>"),
              ElementsAre("call: f {}"));
}

TEST(HermesFormatTest, BracesTooManyOrTooFewAreForgiven) {
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {}}}\n</tool_call> a}"),
              ElementsAre("call: f {}", "text: a}"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {}\n</tool_call>\na"),
              ElementsAre("call: f {}", "text: a"));
}

TEST(HermesFormatTest, ACallThatBreaksBeforeItsNameIsText) {
  for (const std::string reply :
       {"a \n<tool_call>\nno JSON\n</tool_call>", "<tool_call>\n{\"name\": 5}</tool_call>",
        "<tool_call>{\"arguments\": {\"a\" 1}}", "<tool_call>{\"name\": \"\"} b", "<tool_call>{}",
        "<tool_call>{\"name\": \"f", "<tool_call>\n", "<tool_call>[]", "<tool_call>[[{",
        "<tool_call>{\"arguments\": 3, \"name\": \"f\"}",
        "<tool_call>{\"arguments\": \"no object\", \"name\": \"f\"}"}) {
    EXPECT_THAT(ReadHermes(reply), ElementsAre("text: " + reply));
  }
}

TEST(HermesFormatTest, ACallMayFollowWhatIsNone) {
  EXPECT_THAT(ReadHermes("<tool_call>\n<tool_call>{\"name\": \"f\", \"arguments\": {}}"),
              ElementsAre("text: <tool_call>", "call: f {}"));
}

TEST(HermesFormatTest, ACallThatBreaksLaterHasNoEnd) {
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1, b}}</tool_call>c"),
              ElementsAre(R"(open: f {"a": 1, )", "text: c"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {b}}<tool_call>{\"name\": "
                         "\"g\", \"arguments\": {}}"),
              ElementsAre("open: f {", "call: g {}"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b"),
              ElementsAre(R"(open: f {"a": "b)"));
}

TEST(HermesFormatTest, AReplyCutBehindArgumentsIsAWholeCall) {
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {}"),
              ElementsAre("call: f {}"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\": \"f\", \"arguments\": {}}\n</tool_c"),
              ElementsAre("call: f {}"));
}

TEST(HermesFormatTest, SeveralCallsInOneTagAreSeveral) {
  EXPECT_THAT(ReadHermes("<tool_call>[{\"name\":\"f\"}, {\"name\":\"g\"}]</tool_call>"),
              ElementsAre("call: f {}", "call: g {}"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\":\"f\"}\n{\"name\":\"g\"}\n</tool_call>"),
              ElementsAre("call: f {}", "call: g {}"));
  EXPECT_THAT(ReadHermes("<tool_call>{\"name\":\"f\"}\n{\"nam: \"g\"}</tool_call>"),
              ElementsAre("call: f {}", "text: {\"nam: \"g\"}</tool_call>"));
}

TEST(HermesFormatTest, WithoutToolsCallsAreText) {
  const std::string reply = "a\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n";
  EXPECT_THAT(Read({.syntax = {.calls = CallSyntax::kHermes}, .tools = {}}, reply),
              ElementsAre("text: " + reply));
}

TEST(HermesFormatTest, PiecesComeAsEarlyAsTheyCan) {
  const std::vector<Tool> tools = WeatherTools();
  const auto parser = MakeReplyParser({.calls = CallSyntax::kHermes}, tools);
  std::vector<ReplyPiece> pieces;
  const auto after = [&](std::string_view text) {
    pieces.clear();
    parser->Text(text, pieces);
    return pieces;
  };
  using Kind = ReplyPiece::Kind;
  EXPECT_THAT(after("Hello <"), ElementsAre(ReplyPiece{.kind = Kind::kText, .text = "Hello"}));
  EXPECT_THAT(after("b>"), ElementsAre(ReplyPiece{.kind = Kind::kText, .text = " <b>"}));
  EXPECT_THAT(after("<tool_call>{\"name\": \"f"), ElementsAre());
  EXPECT_THAT(after("\""), ElementsAre(ReplyPiece{.kind = Kind::kCallStart, .text = "f"}));
  EXPECT_THAT(after(", \"arguments\": {\"a\": \"b"),
              ElementsAre(ReplyPiece{.kind = Kind::kCallArguments, .text = "{\"a\": \"b"}));
  EXPECT_THAT(after("\"}"), ElementsAre(ReplyPiece{.kind = Kind::kCallArguments, .text = "\"}"},
                                        ReplyPiece{.kind = Kind::kCallEnd, .text = ""}));
}

}  // namespace
}  // namespace folio
