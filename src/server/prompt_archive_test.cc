#include "server/prompt_archive.h"

#include <gtest/gtest.h>

#include "server/miss_explanation.h"
#include "server/session_table.h"

namespace folio {
namespace {

ArchivedPrompt Prompt(const std::string& id, std::vector<std::int32_t> tokens,
                      const std::string& owner = "ann") {
  return {.id = id,
          .engine_id = 7,
          .owner = owner,
          .model = "m",
          .tokens = std::move(tokens),
          .parts = {{"system", 0}, {"tools[0] f", 2}, {"messages[1] user", 4}}};
}

TEST(PromptArchiveTest, APromptIsFoundByItsOwnerUnderAnyPrefix) {
  PromptArchive archive(1 << 20);
  archive.Add(Prompt("1", {1, 2, 3}));
  archive.SetReport("1", {.cause = MissCause::kDiffers, .cached_tokens = 16});
  EXPECT_EQ(archive.Find("ann", "msg_1")->report.cached_tokens, 16);
  EXPECT_EQ(archive.Find("ann", "chatcmpl-1")->prompt->tokens.size(), 3U);
  EXPECT_EQ(archive.FindByEngine("ann", "m", 7)->prompt->id, "1");
  EXPECT_FALSE(archive.Find("bob", "1").has_value());
  EXPECT_FALSE(archive.FindByEngine("bob", "m", 7).has_value());
  EXPECT_FALSE(archive.FindByEngine("ann", "n", 7).has_value());
}

TEST(PromptArchiveTest, TheOldestGoFirst) {
  PromptArchive archive(10000);
  for (int i = 0; i < 10; ++i) {
    archive.Add(Prompt(std::to_string(i), std::vector<std::int32_t>(500)));
  }
  EXPECT_FALSE(archive.Find("ann", "0").has_value());
  EXPECT_TRUE(archive.Find("ann", "9").has_value());
  archive.Add(Prompt("large", std::vector<std::int32_t>(5000)));
  EXPECT_FALSE(archive.Find("ann", "large").has_value());
  EXPECT_TRUE(archive.Find("ann", "9").has_value());
}

std::string AnthropicType(const std::vector<std::int32_t>& earlier,
                          const std::vector<std::int32_t>& now) {
  const ArchivedPrompt before = Prompt("1", earlier);
  const Json answer = AnthropicDiagnostics(&before, Prompt("2", now));
  return answer["cache_miss_reason"].is_null()
             ? "null"
             : answer["cache_miss_reason"]["type"].get<std::string>();
}

TEST(MissDiagnosticsTest, TheFirstDifferenceNamesItsReason) {
  const std::vector<std::int32_t> earlier = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(AnthropicType(earlier, {1, 2, 3, 4, 5, 6, 7}), "null");
  EXPECT_EQ(AnthropicType(earlier, {1, 9, 3, 4, 5, 6}), "system_changed");
  EXPECT_EQ(AnthropicType(earlier, {1, 2, 3, 9, 5, 6}), "tools_changed");
  EXPECT_EQ(AnthropicType(earlier, {1, 2, 3, 4, 5, 9, 6}), "messages_changed");
  EXPECT_EQ(DumpJson(AnthropicDiagnostics(nullptr, Prompt("2", earlier))),
            R"({"cache_miss_reason":{"type":"previous_message_not_found"}})");
  const ArchivedPrompt before = Prompt("1", earlier);
  ArchivedPrompt other_model = Prompt("2", earlier);
  other_model.model = "n";
  EXPECT_EQ(DumpJson(AnthropicDiagnostics(&before, other_model)),
            R"({"cache_miss_reason":{"type":"model_changed","cache_missed_input_tokens":6}})");
  EXPECT_EQ(DumpJson(OpenAiDiagnostics(&before, Prompt("2", {1, 2, 9, 4}), 0)),
            R"({"type":"cache_miss","reason":"tools_changed","cache_missed_tokens":4,)"
            R"("comparison_reusable_tokens":2})");
  EXPECT_EQ(DumpJson(OpenAiDiagnostics(&before, Prompt("2", {1, 2, 3, 4, 5, 6, 1}), 6)),
            R"({"type":"cache_hit"})");
  EXPECT_EQ(DumpJson(OpenAiDiagnostics(nullptr, before, 0)),
            R"({"type":"comparison_response_not_found"})");
}

// A template without a place for tools has them in the system message.
TEST(MissDiagnosticsTest, ToolsThatChangeWithinTheSystemTextAreTools) {
  ArchivedPrompt before = Prompt("1", {1, 2, 3});
  ArchivedPrompt now = Prompt("2", {1, 9, 3});
  now.tools_digest = "other";
  EXPECT_EQ(ComparePrompts(before, now).part, "tools[0]");
  now.system_digest = "other";
  EXPECT_EQ(ComparePrompts(before, now).part, "system");
}

TEST(SessionTableTest, AShortRequestBesideALongConversationIsNoTurn) {
  SessionTable sessions(2);
  EXPECT_TRUE(sessions.IsTurn("a", 500));
  EXPECT_TRUE(sessions.IsTurn("a", 28000));
  EXPECT_FALSE(sessions.IsTurn("a", 500));
  EXPECT_TRUE(sessions.IsTurn("a", 29000));
  EXPECT_TRUE(sessions.IsTurn("b", 500));
  EXPECT_TRUE(sessions.IsTurn("c", 500));
  EXPECT_TRUE(sessions.IsTurn("a", 500));  // forgotten meanwhile
}

}  // namespace
}  // namespace folio
