#include "api/reply_parser/reasoning.h"

#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

// The same, whether the tags are control tokens of the vocabulary or not.
std::vector<std::string> ReadThinking(std::string_view reply, bool in_reasoning = false) {
  const Reading plain{
      .syntax = {.calls = CallSyntax::kHermes, .reasoning = ReasoningSyntax::kThink},
      .options = {.in_reasoning = in_reasoning}};
  Reading controls = plain;
  controls.controls = {"<think>", "</think>", "<tool_call>", "</tool_call>"};
  const auto lines = Read(plain, reply);
  EXPECT_EQ(Read(controls, reply), lines) << reply;
  return lines;
}

TEST(ReasoningTest, StandsAtTheStart) {
  EXPECT_THAT(ReadThinking("<think>\nhm, 1 < 2\n\nso\n</think>\n\nYes. \n"),
              ElementsAre("reasoning: hm, 1 < 2\n\nso", "text: Yes. \n"));
  EXPECT_THAT(ReadThinking("\n <think>a</think>b"), ElementsAre("reasoning: a", "text: b"));
}

TEST(ReasoningTest, ThePromptMayHaveOpenedIt) {
  EXPECT_THAT(ReadThinking("\nhm</thin</think>\nYes", true),
              ElementsAre("reasoning: hm</thin", "text: Yes"));
}

TEST(ReasoningTest, CallsFollowIt) {
  EXPECT_THAT(ReadThinking("<think>hm</think>\n\n<tool_call>{\"name\": \"f\"}</tool_call>"),
              ElementsAre("reasoning: hm", "call: f {}"));
}

TEST(ReasoningTest, CallsInsideAreReasoning) {
  EXPECT_THAT(
      ReadThinking("<think>a <tool_call>{\"name\": \"f\"}</tool_call> <think></think>b"),
      ElementsAre("reasoning: a <tool_call>{\"name\": \"f\"}</tool_call> <think>", "text: b"));
}

TEST(ReasoningTest, EmptyReasoningIsNone) {
  EXPECT_THAT(ReadThinking("<think>\n\n</think>\n\nYes"), ElementsAre("text: Yes"));
}

TEST(ReasoningTest, TagsElsewhereAreText) {
  for (const std::string reply : {"a <think>b</think>", "</think>", "<thin", " \n", "< think>",
                                  "<<think>", "                  <think>a</think>"}) {
    EXPECT_THAT(ReadThinking(reply), ElementsAre("text: " + reply));
  }
  EXPECT_THAT(ReadThinking("<think>a</think>b</think>c"),
              ElementsAre("reasoning: a", "text: b</think>c"));
}

TEST(ReasoningTest, ReplyCutInsideIsReasoning) {
  EXPECT_THAT(ReadThinking("<think>\na \n"), ElementsAre("reasoning: a \n"));
  EXPECT_THAT(ReadThinking("<think>a</th"), ElementsAre("reasoning: a</th"));
}

TEST(ReasoningTest, IsFoundWithoutTools) {
  EXPECT_THAT(Read({.syntax = {.calls = CallSyntax::kLlama3, .reasoning = ReasoningSyntax::kThink},
                    .tools = {}},
                   "<think>a</think>{}"),
              ElementsAre("reasoning: a", "text: {}"));
}

TEST(ReasoningTest, MistralsMarksAreBrackets) {
  const Reading reading{
      .syntax = {.calls = CallSyntax::kMistral, .reasoning = ReasoningSyntax::kBracketThink},
      .options = {.marks_are_controls = true},
      .controls = {"[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]"}};
  EXPECT_THAT(Read(reading, "[THINK]hm[/THINK]So[TOOL_CALLS]f[ARGS]{}"),
              ElementsAre("reasoning: hm", "text: So", "call: f {}"));
  EXPECT_THAT(Read(reading, "[TH[TOOL_CALLS]f[ARGS]{}"), ElementsAre("text: [TH", "call: f {}"));
}

TEST(ReasoningTest, UnknownControlTokensAreLeftOut) {
  Reading reading{.syntax = {.reasoning = ReasoningSyntax::kThink}, .controls = {"<|x|>"}};
  EXPECT_THAT(Read(reading, "<|x|><think><|x|>a</think>b<|x|>c<|x|>"),
              ElementsAre("reasoning: a", "text: bc"));
}

}  // namespace
}  // namespace folio
