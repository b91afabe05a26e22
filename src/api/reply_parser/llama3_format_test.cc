#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

std::vector<std::string> ReadLlama(std::string_view reply) {
  return Read({.syntax = {.calls = CallSyntax::kLlama3}}, reply);
}

TEST(Llama3FormatTest, AReplyThatIsACallIsOne) {
  EXPECT_THAT(ReadLlama(R"({"name": "get_weather", "parameters": {"city": "Bern"}})"),
              ElementsAre(R"(call: get_weather {"city": "Bern"})"));
  EXPECT_THAT(ReadLlama("\n{\"type\": \"function\", \"name\": \"mcp__now\", \"parameters\": {}}\n"),
              ElementsAre("call: mcp__now {}"));
}

TEST(Llama3FormatTest, SemicolonsPartCalls) {
  EXPECT_THAT(ReadLlama(R"({"name": "get_weather", "parameters": {"days": 1}}; )"
                        R"({"name": "mcp__now", "parameters": {}};)"),
              ElementsAre(R"(call: get_weather {"days": 1})", "call: mcp__now {}"));
}

TEST(Llama3FormatTest, OnlyToolsThatAreOfferedAreCalled) {
  for (const std::string reply :
       {R"({"name": "now", "parameters": {}})", R"({"name": "Alice", "age": 5})",
        R"({"answer": {"name": "get_weather"}})", "{", "{}", "{\"parameters\": {\"a\": [1",
        R"(Call {"name": "get_weather", "parameters": {}})"}) {
    EXPECT_THAT(ReadLlama(reply), ElementsAre("text: " + reply));
  }
}

TEST(Llama3FormatTest, OtherJsonIsToldAsItComes) {
  const std::vector<Tool> tools = WeatherTools();
  const auto parser = MakeReplyParser({.calls = CallSyntax::kLlama3}, tools);
  std::vector<ReplyPiece> pieces;
  parser->Text("{\"answer\"", pieces);
  EXPECT_THAT(pieces,
              ElementsAre(ReplyPiece{.kind = ReplyPiece::Kind::kText, .text = "{\"answer\""}));
}

TEST(Llama3FormatTest, ThePythonTagOpensACall) {
  const std::string reply = R"(So <|python_tag|>{"name": "mcp__now", "parameters": {}})";
  EXPECT_THAT(ReadLlama(reply), ElementsAre("text: So", "call: mcp__now {}"));
  Reading controls{.syntax = {.calls = CallSyntax::kLlama3},
                   .options = {.marks_are_controls = true},
                   .controls = {"<|python_tag|>"}};
  EXPECT_THAT(Read(controls, reply), ElementsAre("text: So", "call: mcp__now {}"));
  controls.controls = {};
  EXPECT_THAT(Read(controls, reply), ElementsAre("text: " + reply));
}

}  // namespace
}  // namespace folio
