#include "api/reply_parser/harmony.h"

#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

const Reading kControls = {.syntax = {.calls = CallSyntax::kHarmony},
                           .options = {.marks_are_controls = true},
                           .tools = {},
                           .controls = {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>",
                                        "<|end|>", "<|call|>", "<|return|>", "<|endoftext|>"}};

// The same, whether the marks are control tokens or, in a vocabulary without them, text.
std::vector<std::string> ReadHarmony(std::string_view reply) {
  const auto lines = Read(kControls, reply);
  EXPECT_EQ(Read({.syntax = {.calls = CallSyntax::kHarmony}}, reply), lines) << reply;
  return lines;
}

TEST(HarmonyTest, ChannelsAreReasoningAndText) {
  EXPECT_THAT(ReadHarmony("<|channel|>analysis<|message|>Hm, <b>.<|end|><|start|>assistant"
                          "<|channel|>final<|message|>Hé!\n<|return|>"),
              ElementsAre("reasoning: Hm, <b>.", "text: Hé!\n"));
}

TEST(HarmonyTest, WhatIsForAFunctionIsACall) {
  EXPECT_THAT(ReadHarmony("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>"
                          "commentary to=functions.get_weather <|constrain|>json<|message|>"
                          "{\"city\": \"Bern\"}<|call|>"),
              ElementsAre("reasoning: a", R"(call: get_weather {"city": "Bern"})"));
  // As the chat template renders it.
  EXPECT_THAT(ReadHarmony(" to=functions.f<|channel|>commentary json<|message|>{} <|call|>"),
              ElementsAre("call: f {}"));
  EXPECT_THAT(ReadHarmony("<|channel|>commentary to=functions.f<|message|><|call|>"),
              ElementsAre("call: f {}"));
}

TEST(HarmonyTest, APreambleIsText) {
  EXPECT_THAT(ReadHarmony("<|channel|>commentary<|message|>I'll look.<|end|><|start|>assistant "
                          "to=functions.f<|channel|>commentary<|message|>{\"a\":1}<|call|><|start|>"
                          "assistant<|channel|>final<|message|>Done"),
              ElementsAre("text: I'll look.", R"(call: f {"a":1})", "text: Done"));
}

TEST(HarmonyTest, MessagesOfAKindAreParted) {
  EXPECT_THAT(ReadHarmony("<|channel|>commentary<|message|>a<|end|><|start|>assistant<|channel|>"
                          "final<|message|>b<|channel|>final<|message|>"),
              ElementsAre("text: a\n\nb"));
}

TEST(HarmonyTest, CodeForAToolThatIsNotHereIsNoCall) {
  EXPECT_THAT(ReadHarmony("<|channel|>analysis to=python code<|message|> print({})<|call|>"),
              ElementsAre("reasoning:  print({})"));
  EXPECT_THAT(ReadHarmony("<|channel|>commentary to=all<|message|>{}"), ElementsAre("text: {}"));
}

TEST(HarmonyTest, BrokenArgumentsHaveNoEnd) {
  EXPECT_THAT(ReadHarmony("<|channel|>commentary to=functions.f<|message|>{a}<|end|><|start|>"
                          "assistant<|channel|>final<|message|>b"),
              ElementsAre("open: f {", "text: b"));
  EXPECT_THAT(ReadHarmony("<|channel|>commentary to=functions.f<|message|>{\"a\": \"b"),
              ElementsAre("open: f {\"a\": \"b"));
  EXPECT_THAT(Read(kControls, "<|channel|>commentary to=functions.f<|message|>{\"a<|call|>"),
              ElementsAre("open: f {\"a"));
}

TEST(HarmonyTest, ReplyWithoutAHeaderIsText) {
  for (const std::string reply : {"Hello", "to", "t<o", " 1 < 2", "to=functions.f", "<|chan"}) {
    EXPECT_THAT(ReadHarmony(reply), ElementsAre("text: " + reply));
  }
  EXPECT_THAT(ReadHarmony("Hello<|end|> there"), ElementsAre("text: Hello\n\n there"));
}

TEST(HarmonyTest, MarksSpelledInTextAreTextWhereTheyAreControlTokens) {
  Reading reading = kControls;
  reading.controls = {"<|channel|>", "<|message|>"};
  EXPECT_THAT(Read(reading, "<|channel|>final<|message|>Say <|end|> and <|start|>."),
              ElementsAre("text: Say <|end|> and <|start|>."));
}

TEST(HarmonyTest, AMarkOfHeadersInContentIsLeftOut) {
  EXPECT_THAT(ReadHarmony("<|channel|>final<|message|>a<|constrain|>b<|message|>c"),
              ElementsAre("text: abc"));
}

TEST(HarmonyTest, AStringMaySpellAMark) {
  EXPECT_THAT(Read({.syntax = {.calls = CallSyntax::kHarmony}},
                   "<|channel|>commentary to=functions.f<|message|>{\"a\": \"<|end|>\"}<|call|>"),
              ElementsAre(R"(call: f {"a": "<|end|>"})"));
}

TEST(HarmonyTest, EndlessHeadersAreBounded) {
  Harmony harmony(/*marks_in_text=*/false);
  PieceWriter out;
  std::vector<ReplyPiece> pieces;
  out.Into(pieces);
  for (int i = 0; i < 100'000; ++i) {
    harmony.Control("<|channel|>", out);
    harmony.Byte('x', out);
  }
  harmony.Control("<|message|>", out);
  harmony.Byte('y', out);
  EXPECT_THAT(pieces, ElementsAre(ReplyPiece{.kind = ReplyPiece::Kind::kText, .text = "y"}));
}

}  // namespace
}  // namespace folio
