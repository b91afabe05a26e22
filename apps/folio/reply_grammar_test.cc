// The grammars of requests, compiled: what each lets a reply be.
#include "api/reply_grammar.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/grammar.h"
#include "text/grammar_testing.h"
#include "text/test_vocabulary.h"

namespace folio {
namespace {

using ::testing::HasSubstr;
using Choice = ToolChoice::Kind;

constexpr const char* kWeather = R"({"type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"], "additionalProperties": false})";

class ReplyGrammarTest : public ::testing::Test {
 protected:
  ReplyGrammarTest() {
    auto vocabulary = testing::ByteLevelVocabulary();
    vocabulary.Add("<mark>", testing::kControlType);
    vocabulary.Add("</mark>", testing::kControlType);
    tokenizer_.emplace(*vocabulary.Load());
    frame_.calls = SpellingOf(CallSyntax::kHermes);
    frame_.control = [this](const std::string& mark) { return tokenizer_->FindSpecial(mark); };
    request_.tools = {{.name = "get_weather", .parameters = Json::parse(kWeather), .strict = true},
                      {.name = "say \"hi\"", .parameters = Json()}};
  }

  bool Fits(std::string_view text) {
    const ReplyGrammar grammar = GrammarOf(request_, frame_);
    const GrammarCompiler grammars(*tokenizer_);
    auto matcher = grammars.Compile(grammar);
    EXPECT_TRUE(matcher.has_value()) << matcher.error().Message() << "\n" << grammar.text;
    if (!matcher) return false;
    const auto ids = tokenizer_->Encode(text, SpecialTokens::kParse);
    return testing::FitsTokens(*tokenizer_, *std::move(matcher), *ids);
  }
  static std::string Call(const std::string& name, const std::string& arguments) {
    return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments +
           "}\n</tool_call>";
  }

  std::optional<Tokenizer> tokenizer_;
  ReplyFrame frame_;
  ApiRequest request_;
  const std::string weather_ = Call("get_weather", R"({"city":"Bern","days":2})");
  const std::string hi_ = Call(R"(say \"hi\")", R"({"a":[1]})");
};

TEST_F(ReplyGrammarTest, NothingIsHeldThatNobodyAskedToHold) {
  request_.tools[0].strict = false;
  EXPECT_EQ(GrammarOf(request_, frame_).kind, ReplyGrammar::Kind::kNone);
  request_.tools[0].strict = true;
  request_.tool_choice.kind = Choice::kNone;
  EXPECT_EQ(GrammarOf(request_, frame_).kind, ReplyGrammar::Kind::kNone);
}

TEST_F(ReplyGrammarTest, ARequiredCallIsMade) {
  request_.tool_choice.kind = Choice::kRequired;
  EXPECT_TRUE(Fits(weather_));
  EXPECT_TRUE(Fits(hi_));
  EXPECT_TRUE(Fits(weather_ + "\n" + hi_ + "\n" + weather_));
  EXPECT_FALSE(Fits("Hello"));
  EXPECT_FALSE(Fits(""));
  EXPECT_FALSE(Fits(weather_ + "\n"));
  EXPECT_FALSE(Fits(Call("get_weather", R"({"city":5})")));
  EXPECT_FALSE(Fits(Call("other", "{}")));
}

TEST_F(ReplyGrammarTest, ANamedCallIsThatOneOnce) {
  request_.tool_choice = {.kind = Choice::kNamed, .name = "get_weather"};
  EXPECT_TRUE(Fits(weather_));
  EXPECT_FALSE(Fits(hi_));
  EXPECT_FALSE(Fits(weather_ + "\n" + weather_));
}

TEST_F(ReplyGrammarTest, OnlyAllowedToolsAreCalled) {
  request_.tools[0].strict = false;
  request_.tool_choice = {.kind = Choice::kRequired, .allowed = {"get_weather"}};
  EXPECT_TRUE(Fits(weather_ + "\n" + weather_));
  EXPECT_FALSE(Fits(hi_));
  request_.tool_choice.kind = Choice::kAuto;
  EXPECT_TRUE(Fits("So:\n" + weather_));
  EXPECT_TRUE(Fits("Hello"));
  EXPECT_FALSE(Fits("So:\n" + hi_));
}

TEST_F(ReplyGrammarTest, ACustomToolsTextFitsItsExpression) {
  request_.tools = {
      {.kind = Tool::Kind::kCustom, .name = "f", .grammar = "ab+|c", .grammar_is_regex = true}};
  EXPECT_TRUE(Fits("So:\n" + Call("f", R"({"input": "abb"})")));
  EXPECT_TRUE(Fits(Call("f", R"({"input": "c"})")));
  EXPECT_FALSE(Fits(Call("f", R"({"input": "abc"})")));
  EXPECT_FALSE(Fits(Call("f", R"({"input": "xab"})")));
}

TEST_F(ReplyGrammarTest, ACustomToolsTextFitsItsGrammarInEveryFamily) {
  const std::string grammar = "start: line+\nline: \"+\" /(.*)/ LF\n%import common.LF";
  request_.tools = {{.kind = Tool::Kind::kCustom, .name = "f\"", .grammar = grammar},
                    {.name = "g", .parameters = Json()}};
  for (const auto syntax : {CallSyntax::kHermes, CallSyntax::kQwenXml, CallSyntax::kLlama3,
                            CallSyntax::kMistral, CallSyntax::kGranite, CallSyntax::kHarmony}) {
    SCOPED_TRACE(CallSyntaxName(syntax));
    frame_ = FrameOf({.calls = syntax}, /*in_reasoning=*/false, frame_.control);
    const CallSpelling& calls = frame_.calls;
    const auto call = [&](const std::string& text) {
      const std::string quoted = DumpJson(Json(text));
      return calls.begin + calls.call_begin + "f\\\"" + calls.name_end +
             (calls.xml_arguments ? "<parameter=input>\n" + text + "\n</parameter>\n"
                                  : "{\"input\": " + quoted + "}") +
             calls.call_end + calls.end;
    };
    for (const auto kind : {Choice::kRequired, Choice::kAuto}) {
      request_.tool_choice.kind = kind;
      if (kind == Choice::kAuto && calls.text_begins_alike) continue;
      EXPECT_TRUE(Fits(call("+a \"b\" \\n\n+\n")));
      EXPECT_FALSE(Fits(call("+a\n-b\n")));
      EXPECT_FALSE(Fits(call("+a")));
      EXPECT_FALSE(Fits(call("")));
    }
  }
}

TEST_F(ReplyGrammarTest, AGrammarThatCannotBeHeldIsNamed) {
  request_.tools.push_back({.kind = Tool::Kind::kCustom, .name = "patch", .grammar = "start: x"});
  const GrammarCompiler grammars(*tokenizer_);
  const auto matcher = grammars.Compile(GrammarOf(request_, frame_));
  ASSERT_FALSE(matcher.has_value());
  const std::string message = BlameRequest(request_, matcher.error()).Message();
  EXPECT_THAT(message, HasSubstr("tools: the grammar of 'patch' "));
  request_.tool_choice = {.kind = Choice::kNamed, .name = "get_weather"};
  EXPECT_TRUE(grammars.Compile(GrammarOf(request_, frame_)).has_value()) << "it can't be called";
}

TEST_F(ReplyGrammarTest, WithoutParallelCallsThereIsOne) {
  request_.tool_choice.kind = Choice::kRequired;
  request_.parallel_tool_calls = false;
  EXPECT_TRUE(Fits(weather_));
  EXPECT_FALSE(Fits(weather_ + "\n" + hi_));
}

TEST_F(ReplyGrammarTest, WhatIsNotStrictFitsAsFarAsItCanBeKeptTo) {
  request_.tools[0].strict = false;
  request_.tools[0].parameters["not"] = {{"required", {"days"}}};  // no grammar can say so
  request_.tool_choice.kind = Choice::kRequired;
  EXPECT_TRUE(Fits(weather_));
  EXPECT_FALSE(Fits(Call("get_weather", R"({"city":5})")));
}

TEST_F(ReplyGrammarTest, StrictCallsAmongTextFitTheirSchemas) {
  EXPECT_TRUE(Fits(""));
  EXPECT_TRUE(Fits("Hello\n<tool, <tool_cal"));
  EXPECT_TRUE(Fits("So:\n" + weather_));
  EXPECT_TRUE(Fits(weather_ + "\n" + hi_ + "\nDone."));
  EXPECT_FALSE(Fits("So:\n<tool_call> is a mark")) << "a mark begins a call";
  EXPECT_FALSE(Fits("So:\n" + Call("get_weather", R"({"city":5})")));
  EXPECT_TRUE(Fits("So:\n" + Call(R"(say \"hi\")", R"({"any":"thing"})")));
  request_.parallel_tool_calls = false;
  EXPECT_TRUE(Fits("So:\n" + weather_));
  EXPECT_TRUE(Fits("So"));
  EXPECT_FALSE(Fits("So:\n" + weather_ + "\n" + weather_));
}

// What a grammar allows is what the family's reader finds.
TEST_F(ReplyGrammarTest, EveryFamilysCallsAreAllowedAndRead) {
  const std::string hermes = R"({"name": "get_weather", "arguments": {"city":"Bern"}})";
  const std::string bare = R"({"name": "get_weather", "parameters": {"city":"Bern"}})";
  const std::pair<CallSyntax, std::string> calls[] = {
      {CallSyntax::kHermes, "<tool_call>\n" + hermes + "\n</tool_call>"},
      {CallSyntax::kQwenXml,
       "<tool_call>\n<function=get_weather>\n<parameter=city>\nBern\n</parameter>\n</function>\n"
       "</tool_call>"},
      {CallSyntax::kLlama3, bare},
      {CallSyntax::kGemma, bare},
      {CallSyntax::kMistral, "[TOOL_CALLS][" + hermes + "]"},
      {CallSyntax::kGranite, "<|tool_call|>[" + hermes + "]"},
      {CallSyntax::kHarmony,
       "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
       R"({"city":"Bern"}<|call|>)"},
  };
  for (const auto& [syntax, call] : calls) {
    SCOPED_TRACE(CallSyntaxName(syntax));
    const ReplySyntax reply{.calls = syntax};
    frame_ = FrameOf(reply, /*in_reasoning=*/false, frame_.control);
    for (const auto kind : {Choice::kRequired, Choice::kAuto}) {
      request_.tool_choice.kind = kind;
      if (kind == Choice::kAuto && frame_.calls.text_begins_alike) {
        EXPECT_EQ(GrammarOf(request_, frame_).kind, ReplyGrammar::Kind::kNone);
        continue;
      }
      EXPECT_TRUE(Fits(call));
      EXPECT_EQ(Fits("Hello"), kind == Choice::kAuto);
    }
    const auto parser = MakeReplyParser(reply, request_.tools);
    std::vector<ReplyPiece> pieces;
    parser->Text(call, pieces);
    parser->End(pieces);
    std::string name;
    std::string arguments;
    for (const ReplyPiece& piece : pieces) {
      if (piece.kind == ReplyPiece::Kind::kCallStart) name += piece.text;
      if (piece.kind == ReplyPiece::Kind::kCallArguments) arguments += piece.text;
      EXPECT_NE(piece.kind, ReplyPiece::Kind::kText) << piece.text;
    }
    EXPECT_EQ(name, "get_weather");
    EXPECT_EQ(Json::parse(arguments, nullptr, false), (Json{{"city", "Bern"}}));
  }
}

TEST_F(ReplyGrammarTest, XmlArgumentsFollowTheSchema) {
  frame_.calls = SpellingOf(CallSyntax::kQwenXml);
  request_.tool_choice.kind = Choice::kRequired;
  const auto call = [](const std::string& parameters) {
    return "<tool_call>\n<function=get_weather>\n" + parameters + "</function>\n</tool_call>";
  };
  const std::string city = "<parameter=city>\nBern\nSouth\n</parameter>\n";
  EXPECT_TRUE(Fits(call(city)));
  EXPECT_TRUE(Fits(call(city + "<parameter=days>\n2\n</parameter>\n")));
  EXPECT_FALSE(Fits(call(city + "<parameter=days>\ntwo\n</parameter>\n")));
  EXPECT_FALSE(Fits(call("<parameter=days>\n2\n</parameter>\n")));
  EXPECT_FALSE(Fits(call(city + "<parameter=hours>\n2\n</parameter>\n")));
}

TEST_F(ReplyGrammarTest, TextMayHaveAFrontOfItsOwn) {
  frame_ = FrameOf({.calls = CallSyntax::kHarmony}, /*in_reasoning=*/false, frame_.control);
  request_.tools.clear();
  request_.format.kind = ReplyFormat::Kind::kJsonObject;
  EXPECT_TRUE(Fits("<|channel|>final<|message|>{}"));
  EXPECT_FALSE(Fits("{}"));
}

TEST_F(ReplyGrammarTest, MarksMayBeControlTokens) {
  frame_.calls.call_begin = "<mark>{\"name\": \"";
  frame_.calls.call_end = "}</mark>";
  frame_.calls.marks = {"<mark>", "</mark>"};
  const std::string call = R"(<mark>{"name": "get_weather", "arguments": {"city":"B"}}</mark>)";
  for (const auto kind : {Choice::kRequired, Choice::kAuto}) {
    request_.tool_choice.kind = kind;
    EXPECT_TRUE(Fits(call));
    EXPECT_FALSE(Fits("<mark>{}</mark>"));
  }
  EXPECT_TRUE(Fits("Text " + call + " and " + call));
}

TEST_F(ReplyGrammarTest, CallsMayStandInABlock) {
  frame_.calls = {.begin = "[CALLS][",
                  .call_begin = "{\"name\": \"",
                  .name_end = "\", \"arguments\": ",
                  .call_end = "}",
                  .between = ", ",
                  .end = "]",
                  .marks = {"[CALLS]"}};
  const std::string one = R"({"name": "get_weather", "arguments": {"city":"B"}})";
  for (const auto kind : {Choice::kRequired, Choice::kAuto}) {
    request_.tool_choice.kind = kind;
    EXPECT_TRUE(Fits(std::string("[CALLS][").append(one).append(", ").append(one).append("]")));
    EXPECT_FALSE(Fits("[CALLS][]"));
    EXPECT_FALSE(Fits("[CALLS][" + one));
  }
}

TEST_F(ReplyGrammarTest, ACallMayBeTheWholeReply) {
  frame_.calls = {.begin = "",
                  .call_begin = "{\"name\": \"",
                  .name_end = "\", \"parameters\": ",
                  .call_end = "}",
                  .between = "; ",
                  .end = "",
                  .marks = {}};
  const std::string one = R"({"name": "get_weather", "parameters": {"city":"B"}})";
  EXPECT_TRUE(Fits(one + "; " + one));
  EXPECT_TRUE(Fits("Text, then {"));
  EXPECT_TRUE(Fits(""));
  EXPECT_FALSE(Fits("{\"a\": 1}"));
  EXPECT_FALSE(Fits("\n{"));
}

TEST_F(ReplyGrammarTest, AFormatIsKeptTo) {
  request_.tools.clear();
  request_.format.kind = ReplyFormat::Kind::kJsonObject;
  EXPECT_TRUE(Fits(R"({"any": ["thing"]})"));
  EXPECT_FALSE(Fits("[1]"));
  request_.format.kind = ReplyFormat::Kind::kJsonSchema;
  request_.format.schema = {{"type", "array"}, {"items", {{"type", "boolean"}}}};
  EXPECT_TRUE(Fits("[true, false]"));
  EXPECT_FALSE(Fits("[1]"));
}

TEST_F(ReplyGrammarTest, WithToolsAReplyIsADocumentOrCalls) {
  request_.format.kind = ReplyFormat::Kind::kJsonObject;
  EXPECT_TRUE(Fits(R"({"any": 1})"));
  EXPECT_TRUE(Fits(weather_));
  EXPECT_FALSE(Fits(Call("get_weather", R"({"city":5})")));
  EXPECT_FALSE(Fits("Text"));
}

TEST_F(ReplyGrammarTest, ReasoningInFrontIsFree) {
  for (const auto& [begin, end] :
       {std::pair("<think>", "</think>"), std::pair("<mark>", "</mark>")}) {
    frame_.reasoning_begin = begin;
    frame_.reasoning_end = end;
    const std::string thought = std::string(begin) + "So {1} or\n2?" + end;
    request_.tool_choice.kind = Choice::kRequired;
    request_.format.kind = ReplyFormat::Kind::kText;
    EXPECT_TRUE(Fits(thought + "\n\n" + weather_));
    EXPECT_TRUE(Fits(weather_));
    EXPECT_FALSE(Fits(thought));
    EXPECT_FALSE(Fits(thought + "\n\nHello"));
    request_.tool_choice.kind = Choice::kNone;
    request_.format.kind = ReplyFormat::Kind::kJsonObject;
    EXPECT_TRUE(Fits(thought + "{}"));
    EXPECT_TRUE(Fits("{}"));
    frame_.reasoning_begun = true;
    EXPECT_TRUE(Fits(std::string("So?") + end + "\n{}"));
    EXPECT_FALSE(Fits("{}")) << "the thought has no end";
    frame_.reasoning_begun = false;
  }
}

TEST_F(ReplyGrammarTest, RefusalsNameTheField) {
  const Error of_engine{
      .kind = ErrorKind::kUsage, .what = "grammar", .where = "Lark", .why = "is bad"};
  EXPECT_EQ(BlameRequest(request_, of_engine).Message(), "tools: a tool's schema is bad");
  request_.format.kind = ReplyFormat::Kind::kJsonSchema;
  EXPECT_EQ(BlameRequest(request_, of_engine).Message(), "response_format: the schema is bad");
  const Error other{.kind = ErrorKind::kUsage, .what = "prompt", .where = "", .why = "is empty"};
  EXPECT_EQ(BlameRequest(request_, other).what, "prompt");
}

}  // namespace
}  // namespace folio
