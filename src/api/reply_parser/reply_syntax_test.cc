#include <gtest/gtest.h>

#include "api/reply_parser/reply_parser.h"

namespace folio {
namespace {

TEST(ReplySyntaxTest, TemplatesWithoutToolsGetTheGenericSyntax) {
  EXPECT_EQ(ReplySyntaxOf("{{ messages }}", "llama"), ReplySyntax{});
  EXPECT_EQ(ReplySyntaxOf("", ""), ReplySyntax{});
}

TEST(ReplySyntaxTest, GemmaIsKnownByItsArchitecture) {
  EXPECT_EQ(ReplySyntaxOf("<start_of_turn>", "gemma3").calls, CallSyntax::kGemma);
  EXPECT_EQ(ReplySyntaxOf("<tool_call>", "gemma3").calls, CallSyntax::kHermes);
}

TEST(ReplySyntaxTest, ThePromptsEndTellsWhetherReasoningIsOpen) {
  constexpr auto kThink = ReasoningSyntax::kThink;
  EXPECT_TRUE(PromptOpensReasoning(kThink, "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(PromptOpensReasoning(kThink, "<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(PromptOpensReasoning(ReasoningSyntax::kNone, "<think>"));
  EXPECT_TRUE(PromptOpensReasoning(ReasoningSyntax::kBracketThink, "[THINK]"));
  EXPECT_FALSE(PromptOpensReasoning(kThink, ""));
}

}  // namespace
}  // namespace folio
