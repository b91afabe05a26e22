#include "api/anthropic_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/anthropic_message.h"
#include "api/anthropic_test_body.h"

namespace folio {
namespace {

// One message of the user's with this content.
ParsedMessages UserContent(const std::string& content, const AnthropicOptions& options = {}) {
  return WithMessages(R"({"role":"user","content":)" + content + "}", options);
}
ParsedMessages AssistantContent(const std::string& content) {
  return WithMessages(R"({"role":"assistant","content":)" + content + "}");
}

TEST(AnthropicMessagesTest, TheSystemPromptIsTheFirstMessage) {
  const auto messages = [](const std::string& system) {
    const auto request = WithMembers(R"("system":)" + system);
    return request ? DumpJson(request->api.messages) : RefusalOf(request);
  };
  const std::string expected =
      R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"}])";
  EXPECT_EQ(messages(R"("be brief")"), expected);
  EXPECT_EQ(messages(R"([{"type":"text","text":"be brief"}])"), expected);
  EXPECT_EQ(messages(R"([{"type":"text","text":"be ","cache_control":{"type":"ephemeral"}},
                         {"type":"text","text":"brief","citations":null}])"),
            expected);
  const std::string none = R"([{"role":"user","content":"hi"}])";
  EXPECT_EQ(messages("null"), none);
  EXPECT_EQ(messages(R"("")"), none);
  EXPECT_EQ(messages("[]"), none);
}

TEST(AnthropicMessagesTest, SystemMessagesStayWhereTheyAre) {
  EXPECT_EQ(MessagesOf(WithMessages(R"({"role":"user","content":"a"},
      {"role":"system","content":[{"type":"text","text":"now "},{"type":"text","text":"this"}]},
      {"role":"user","content":"b"},{"role":"user","content":"c"})")),
            R"([{"role":"user","content":"a"},{"role":"system","content":"now this"},)"
            R"({"role":"user","content":"b"},{"role":"user","content":"c"}])");
}

TEST(AnthropicMessagesTest, HowTextIsCutChangesNothing) {
  const std::string whole = MessagesOf(UserContent(R"("one two")"));
  EXPECT_EQ(whole, R"([{"role":"user","content":"one two"}])");
  EXPECT_EQ(MessagesOf(UserContent(R"([{"type":"text","text":"one two"}])")), whole);
  EXPECT_EQ(MessagesOf(UserContent(R"([{"type":"text","text":"one"},{"type":"text","text":""},
      {"type":"text","text":" two","cache_control":{"type":"ephemeral","ttl":"1h"}}])")),
            whole);
  const std::string empty = R"([{"role":"user","content":""}])";
  EXPECT_EQ(MessagesOf(UserContent(R"("")")), empty);
  EXPECT_EQ(MessagesOf(UserContent("[]")), empty);
}

TEST(AnthropicMessagesTest, AnAssistantsBlocksAreOneMessage) {
  EXPECT_EQ(MessagesOf(AssistantContent(R"([
      {"type":"thinking","thinking":"hm","signature":"sha256-1"},
      {"type":"redacted_thinking","data":"xyz"},
      {"type":"text","text":"I look. "},
      {"type":"tool_use","id":"toolu_1","name":"f","input":{"b": 1, "a": [true]},
       "cache_control":{"type":"ephemeral"}},
      {"type":"text","text":"And again."},
      {"type":"tool_use","id":"toolu_2","name":"g","input":{}},
      {"type":"tool_use","id":"toolu_3","name":"h","input":null}])")),
            R"([{"role":"assistant","content":"I look. And again.","reasoning_content":"hm",)"
            R"("tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"f",)"
            R"("arguments":"{\"b\":1,\"a\":[true]}"}},{"id":"toolu_2","type":"function",)"
            R"("function":{"name":"g","arguments":"{}"}},{"id":"toolu_3","type":"function",)"
            R"("function":{"name":"h","arguments":"{}"}}]}])");
  const std::string empty = R"([{"role":"assistant","content":""}])";
  EXPECT_EQ(MessagesOf(AssistantContent("null")), empty);
  EXPECT_EQ(MessagesOf(AssistantContent("[]")), empty);
  EXPECT_EQ(MessagesOf(AssistantContent(R"("")")), empty);
  EXPECT_EQ(MessagesOf(AssistantContent(R"([{"type":"thinking","thinking":"","signature":"s"}])")),
            empty);
}

TEST(AnthropicMessagesTest, ThinkingThatWasNotShownComesBackWithItsSignature) {
  const std::string content = R"([{"type":"thinking","thinking":"","signature":")" +
                              ThinkingSignature("hm", /*omit_thinking=*/true) +
                              R"("},{"type":"text","text":"Yes"}])";
  EXPECT_EQ(MessagesOf(AssistantContent(content)),
            R"([{"role":"assistant","content":"Yes","reasoning_content":"hm"}])");
}

TEST(AnthropicMessagesTest, BlocksOfAServicesOwnAreReadAsFarAsTheyAreText) {
  const auto request = AssistantContent(R"([{"type":"fallback","model":"other"},
      {"type":"compaction","content":"What was said."},{"type":"text","text":" Yes"}])");
  EXPECT_EQ(MessagesOf(request), R"([{"role":"assistant","content":"What was said. Yes"}])");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->api.notes,
            std::vector<std::string>{
                "messages[0].content[0]: 'fallback' left out: of a service's own models"});
}

TEST(AnthropicMessagesTest, ResultsAreMessagesBeforeTheirUsersText) {
  EXPECT_EQ(MessagesOf(UserContent(R"([
      {"type":"text","text":"so? "},
      {"type":"tool_result","tool_use_id":"toolu_1","content":"3"},
      {"type":"tool_result","tool_use_id":"toolu_2","is_error":false,
       "content":[{"type":"text","text":"4"},{"type":"text","text":"5"}]},
      {"type":"text","text":"well"}])")),
            R"([{"role":"tool","content":"3","tool_call_id":"toolu_1"},)"
            R"({"role":"tool","content":"45","tool_call_id":"toolu_2"},)"
            R"({"role":"user","content":"so? well"}])");
}

TEST(AnthropicMessagesTest, ResultsAloneLeaveNoEmptyMessage) {
  const std::string expected = R"([{"role":"tool","content":"","tool_call_id":"t"}])";
  EXPECT_EQ(MessagesOf(UserContent(R"([{"type":"tool_result","tool_use_id":"t"}])")), expected);
  EXPECT_EQ(MessagesOf(UserContent(R"([{"type":"tool_result","tool_use_id":"t","content":null},
      {"type":"text","text":""}])")),
            expected);
  EXPECT_EQ(MessagesOf(UserContent(R"([{"type":"tool_result","tool_use_id":"t","content":[]}])")),
            expected);
}

TEST(AnthropicMessagesTest, AResultThatIsAnErrorSaysSo) {
  const auto content = [](const std::string& text) {
    const auto request = UserContent(
        R"([{"type":"tool_result","tool_use_id":"t","is_error":true,"content":)" + text + "}]");
    return request ? request->api.messages[0]["content"].get<std::string>() : RefusalOf(request);
  };
  EXPECT_EQ(content(R"("no such file")"), "Error: no such file");
  EXPECT_EQ(content(R"("ERROR 5")"), "ERROR 5");
  EXPECT_EQ(content(R"("")"), "Error");
}

TEST(AnthropicMessagesTest, TextOfOtherKindsOfBlocksIsRead) {
  EXPECT_EQ(MessagesOf(UserContent(R"([{"type":"search_result","source":"s.md","title":"T",
      "content":[{"type":"text","text":"body"}]},{"type":"text","text":"?"}])")),
            R"([{"role":"user","content":"T\ns.md\nbody\n?"}])");
  EXPECT_EQ(MessagesOf(UserContent(R"([{"type":"tool_result","tool_use_id":"t",
      "content":[{"type":"tool_reference","tool_name":"f"}]}])")),
            R"([{"role":"tool","content":"Tool f is available.\n","tool_call_id":"t"}])");
}

TEST(AnthropicMessagesTest, MediaIsRefused) {
  const std::string source = R"("source":{"type":"base64","media_type":"image/png","data":"AA"})";
  EXPECT_EQ(
      RefusalOf(UserContent(R"([{"type":"text","text":"a"},{"type":"image",)" + source + "}]")),
      "messages[0].content[1].type: is 'image': only text is read, no images, documents or "
      "files");
  EXPECT_EQ(RefusalOf(UserContent(R"([{"type":"tool_result","tool_use_id":"t",
      "content":[{"type":"document",)" +
                                  source + "}]}]")),
            "messages[0].content[0].content[0].type: is 'document': only text is read, no images, "
            "documents or files");
}

TEST(AnthropicMessagesTest, MediaIsANoteWhereItIsDropped) {
  const auto request = UserContent(
      R"([{"type":"image","source":{},"cache_control":{"type":"ephemeral"}},
          {"type":"text","text":" what?"}])",
      {.drop_media = true});
  EXPECT_EQ(MessagesOf(request),
            R"([{"role":"user","content":"[image left out: only text is read here] what?"}])");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->api.notes, std::vector<std::string>{
                                    "messages[0].content[0]: 'image' left out: only text is read"});
  EXPECT_EQ(request->api.marks, std::vector<CacheMark>{{.message = 0}});
}

TEST(AnthropicMessagesTest, BlocksOfAServersToolsAreLeftOut) {
  const auto request = AssistantContent(R"([{"type":"server_tool_use","id":"s","name":"web_search",
      "input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},
      {"type":"text","text":"found"}])");
  EXPECT_EQ(MessagesOf(request), R"([{"role":"assistant","content":"found"}])");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(
      request->api.notes,
      (std::vector<std::string>{
          "messages[0].content[0]: 'server_tool_use' left out: of a server's own tools",
          "messages[0].content[1]: 'web_search_tool_result' left out: of a server's own tools"}));
}

TEST(AnthropicMessagesTest, ALogLineOfWhatIsLeftOutIsShort) {
  std::string blocks = R"({"type":"x_tool_use"})";
  for (int i = 1; i < 1000; ++i) blocks += R"(,{"type":"x_tool_use"})";
  const auto request = AssistantContent("[" + blocks + "]");
  ASSERT_TRUE(request.has_value()) << RefusalOf(request);
  EXPECT_EQ(request->api.notes.size(), 32U);
}

TEST(AnthropicMessagesTest, WhatIsWrongIsNamedByItsPath) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("hi")", "messages[0]: is a string, not an object"},
      {R"({"content":"x"})", "messages[0].role: is missing"},
      {R"({"role":"tool","content":"x"})",
       "messages[0].role: is 'tool', none of user, assistant, system"},
      {R"({"role":"user"})", "messages[0].content: is missing"},
      {R"({"role":"user","content":null})", "messages[0].content: is missing"},
      {R"({"role":"user","content":5})",
       "messages[0].content: is a number, not a string or a list of blocks"},
      {R"({"role":"assistant","content":{}})",
       "messages[0].content: is an object, not a string or a list of blocks"},
      {R"({"role":"user","content":["a"]})", "messages[0].content[0]: is a string, not an object"},
      {R"({"role":"user","content":[{"text":"a"}]})", "messages[0].content[0].type: is missing"},
      {R"({"role":"user","content":[{"type":"text"}]})", "messages[0].content[0].text: is missing"},
      {R"({"role":"user","content":[{"type":"text","text":1}]})",
       "messages[0].content[0].text: is a number, not a string"},
      {R"({"role":"user","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]})",
       "messages[0].content[0].type: is 'tool_use', none of text, tool_result, search_result"},
      {R"({"role":"assistant","content":[{"type":"tool_result","tool_use_id":"t"}]})",
       "messages[0].content[0].type: is 'tool_result', none of text, thinking, "
       "redacted_thinking, tool_use"},
      {R"({"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]})",
       "messages[0].content[0].id: is missing"},
      {R"({"role":"assistant","content":[{"type":"tool_use","id":"t","input":{}}]})",
       "messages[0].content[0].name: is missing"},
      {R"({"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":"{}"}]})",
       "messages[0].content[0].input: is a string, not an object"},
      {R"({"role":"assistant","content":[{"type":"thinking"}]})",
       "messages[0].content[0].thinking: is missing"},
      {R"({"role":"user","content":[{"type":"tool_result","content":"x"}]})",
       "messages[0].content[0].tool_use_id: is missing"},
      {R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":7}]})",
       "messages[0].content[0].content: is a number, not a string or a list of blocks"},
      {R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":"no"}]})",
       "messages[0].content[0].is_error: is a string, not true or false"},
      {R"({"role":"user","content":[{"type":"search_result","source":"s","content":[]}]})",
       "messages[0].content[0].title: is missing"},
      {R"({"role":"system","content":[{"type":"hologram"}]})",
       "messages[0].content[0].type: is 'hologram', none of text, search_result, tool_reference"},
  };
  for (const auto& [message, expected] : cases) {
    EXPECT_EQ(RefusalOf(WithMessages(message)), expected) << message;
  }
  EXPECT_EQ(RefusalOf(ParseMessages(BodyOf(R"({"max_tokens":1})"))), "messages: is missing");
  EXPECT_EQ(RefusalOf(ParseMessages(BodyOf(R"({"max_tokens":1,"messages":{}})"))),
            "messages: is an object, not a list");
}

}  // namespace
}  // namespace folio
