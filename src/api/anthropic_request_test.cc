#include "api/anthropic_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/anthropic_error.h"
#include "api/anthropic_test_body.h"

namespace folio {
namespace {

TEST(ParseMessagesTest, DefaultsAreTheApis) {
  const auto request = WithMembers("");
  ASSERT_TRUE(request.has_value()) << RefusalOf(request);
  const SamplingParams& sampling = request->api.request.sampling;
  EXPECT_EQ(sampling.temperature, 1.0F);
  EXPECT_EQ(sampling.top_p, 1.0F);
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(request->api.request.max_tokens, 9);
  EXPECT_EQ(request->api.request.choices, 1);
  EXPECT_EQ(request->api.request.retention, CacheRetention::kNone);
  EXPECT_FALSE(request->api.stream);
  EXPECT_TRUE(request->api.parallel_tool_calls);
  EXPECT_EQ(DumpJson(request->api.variables), "{}");
  EXPECT_EQ(request->api.format.kind, ReplyFormat::Kind::kText);
  EXPECT_EQ(request->reply.max_tokens, 9);
  EXPECT_FALSE(request->reply.omit_thinking);
  EXPECT_FALSE(request->wants_diagnostics);
  EXPECT_TRUE(request->api.notes.empty());
  EXPECT_TRUE(request->api.prompts.empty());
}

TEST(ParseMessagesTest, EveryFieldIsRead) {
  const auto request = WithMembers(R"("model":"m","temperature":0,"top_p":0.5,"top_k":7,
      "stop_sequences":["a","b"],"stream":true,"metadata":{"user_id":"u_session_s1"},
      "thinking":{"type":"enabled","budget_tokens":2048,"display":"omitted"},
      "output_config":{"effort":"max","format":{"type":"json_schema","schema":{"type":"object"}}},
      "diagnostics":{"previous_message_id":"msg_1"},"priority":3,"cache_salt":"s","seed":5,
      "min_p":0.1,"chat_template_kwargs":{"x":1})");
  ASSERT_TRUE(request.has_value()) << RefusalOf(request);
  const SamplingParams& sampling = request->api.request.sampling;
  EXPECT_EQ(request->api.model, "m");
  EXPECT_EQ(sampling.temperature, 0.0F);
  EXPECT_EQ(sampling.top_p, 0.5F);
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_EQ(sampling.min_p, 0.1F);
  EXPECT_EQ(request->api.request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(request->api.stream);
  EXPECT_EQ(request->user_id, "u_session_s1");
  EXPECT_EQ(request->api.session, "s1");
  EXPECT_EQ(request->thinking_budget, 2048);
  EXPECT_TRUE(request->reply.omit_thinking);
  EXPECT_EQ(DumpJson(request->api.variables),
            R"({"x":1,"enable_thinking":true,"reasoning_effort":"high"})");
  EXPECT_EQ(request->api.format.kind, ReplyFormat::Kind::kJsonSchema);
  EXPECT_EQ(DumpJson(request->api.format.schema), R"({"type":"object"})");
  EXPECT_TRUE(request->wants_diagnostics);
  EXPECT_EQ(request->previous_message_id, "msg_1");
  EXPECT_EQ(request->api.request.priority, 3);
  EXPECT_EQ(request->api.request.cache_salt, "s");
  EXPECT_EQ(request->api.seed, 5U);
}

TEST(ParseMessagesTest, UnknownAndNullFieldsPass) {
  const auto request = WithMembers(R"("temperature":null,"system":null,"tools":null,"thread":null,
      "tool_choice":null,"thinking":null,"output_config":{"effort":null,"format":null},
      "stop_sequences":null,"cache_control":null,"metadata":{"user_id":null},"diagnostics":null,
      "service_tier":"auto","speed":"fast","container":{"id":"c"},"mcp_servers":[{}],
      "context_management":{"edits":[]},"inference_geo":"eu","betas":["b"],"new_thing":[1])");
  EXPECT_EQ(RefusalOf(request), "");
}

TEST(ParseMessagesTest, ThinkingIsTheTemplatesVariable) {
  const auto variables = [](const std::string& members) {
    const auto request = WithMembers(members);
    return request ? DumpJson(request->api.variables) : RefusalOf(request);
  };
  EXPECT_EQ(variables(R"("thinking":{"type":"disabled"})"), R"({"enable_thinking":false})");
  EXPECT_EQ(variables(R"("thinking":{"type":"adaptive"})"), R"({"enable_thinking":true})");
  EXPECT_EQ(variables(R"("thinking":{"type":"between_tools"})"), R"({"enable_thinking":true})");
  EXPECT_EQ(variables(R"("thinking":{"type":"disabled"},
      "chat_template_kwargs":{"enable_thinking":true})"),
            R"({"enable_thinking":true})");
  EXPECT_EQ(variables(R"("output_config":{"effort":"medium"})"),
            R"({"reasoning_effort":"medium"})");
  EXPECT_EQ(variables(R"("output_config":{"effort":"xhigh"})"), R"({"reasoning_effort":"high"})");
}

TEST(ParseMessagesTest, AskingForDiagnosticsNeedsNoEarlierMessage) {
  for (const char* members :
       {R"("diagnostics":{})", R"("diagnostics":{"previous_message_id":null})"}) {
    const auto request = WithMembers(members);
    ASSERT_TRUE(request.has_value()) << RefusalOf(request);
    EXPECT_TRUE(request->wants_diagnostics);
    EXPECT_EQ(request->previous_message_id, "");
  }
}

TEST(ParseMessagesTest, ASessionIsNamedInTheUsersId) {
  const auto session = [](const std::string& user_id) {
    const auto request = WithMembers(R"("metadata":{"user_id":)" + DumpJson(Json(user_id)) + "}");
    return request ? request->api.session : RefusalOf(request);
  };
  EXPECT_EQ(session("user_1f_account__session_ab-cd"), "ab-cd");
  EXPECT_EQ(session(R"({"device_id":"d","session_id":"ab-cd"})"), "ab-cd");
  EXPECT_EQ(session("somebody"), "");
  EXPECT_EQ(session("{not json"), "");
  EXPECT_EQ(session(R"({"session_id":5})"), "");
  EXPECT_EQ(session("[]"), "");
}

TEST(ParseMessagesTest, AFormatMayHaveItsOlderName) {
  const auto request = WithMembers(R"("output_format":{"type":"json_schema","schema":{"a":1}})");
  ASSERT_TRUE(request.has_value()) << RefusalOf(request);
  EXPECT_EQ(DumpJson(request->api.format.schema), R"({"a":1})");
}

TEST(ParseMessagesTest, NoTokensMeansThatThePromptIsKept) {
  const auto request =
      ParseMessages(BodyOf(R"({"max_tokens":0,"messages":[{"role":"user","content":"hi"}]})"));
  ASSERT_TRUE(request.has_value()) << RefusalOf(request);
  EXPECT_EQ(request->api.request.max_tokens, 0);
}

TEST(ParseMessagesTest, ThreadsAreRefusedSoThatTheClientSendsAll) {
  for (const char* thread :
       {R"({"type":"create"})", R"({"type":"continue","previous_message_id":"msg_1"})"}) {
    // What is left of the body is the thread's new part alone: it isn't even looked at.
    const auto request = ParseMessages(BodyOf(R"({"thread":)" + std::string(thread) + "}"));
    ASSERT_FALSE(request.has_value());
    EXPECT_EQ(request.error().details_code, "thread_unsupported_request");
    EXPECT_EQ(HttpStatusOf(request.error()), 400);
    EXPECT_EQ(DumpJson(AnthropicErrorJson(request.error())["error"]["details"]),
              R"({"error_code":"thread_unsupported_request","unsupported":["thread"]})");
  }
}

TEST(ParseMessagesTest, WhatIsWrongIsNamedByItsPath) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("temperature":"hot")", "temperature: is a string, not a number"},
      {R"("temperature":-1)", "temperature: is -1, not from 0 to 100"},
      {R"("top_p":2)", "top_p: is 2, not from 0 to 1"},
      {R"("model":5)", "model: is a number, not a string"},
      {R"("stream":1)", "stream: is a number, not true or false"},
      {R"("stop_sequences":[""])", "stop_sequences[0]: is empty"},
      {R"("stop_sequences":["a",1])", "stop_sequences[1]: is a number, not a string"},
      {R"("system":5)", "system: is a number, not a string or a list of blocks"},
      {R"("system":[{"type":"image"}])", "system[0].type: is 'image', not text"},
      {R"("system":[{"type":"text"}])", "system[0].text: is missing"},
      {R"("thinking":"on")", "thinking: is a string, not an object"},
      {R"("thinking":{})", "thinking.type: is missing"},
      {R"("thinking":{"type":"deep"})",
       "thinking.type: is 'deep', none of enabled, adaptive, between_tools, disabled"},
      {R"("thinking":{"type":"enabled","budget_tokens":0})",
       "thinking.budget_tokens: is 0, not from 1 to 2147483647"},
      {R"("output_config":[])", "output_config: is a list, not an object"},
      {R"("output_config":{"effort":"huge"})",
       "output_config.effort: is 'huge', none of low, medium, high, xhigh, max"},
      {R"("output_config":{"format":{"type":"xml"}})",
       "output_config.format.type: is 'xml', not json_schema"},
      {R"("output_config":{"format":{}})", "output_config.format.type: is missing"},
      {R"("output_config":{"format":{"type":"json_schema"}})",
       "output_config.format.schema: is missing"},
      {R"("metadata":{"user_id":1})", "metadata.user_id: is a number, not a string"},
      {R"("diagnostics":true)", "diagnostics: is true, not an object"},
      {R"("diagnostics":{"previous_message_id":1})",
       "diagnostics.previous_message_id: is a number, not a string"},
      {R"("chat_template_kwargs":1)", "chat_template_kwargs: is a number, not an object"},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_EQ(RefusalOf(WithMembers(members)), expected) << members;
  }
  EXPECT_EQ(RefusalOf(ParseMessages(Json::array())), "is a list, not an object");
}

TEST(ParseMessagesTest, MaxTokensIsNeeded) {
  const auto refusal = [](const std::string& max_tokens) {
    return RefusalOf(ParseMessages(
        BodyOf(R"({"messages":[{"role":"user","content":"hi"}])" + max_tokens + "}")));
  };
  EXPECT_EQ(refusal(""), "max_tokens: is missing");
  EXPECT_EQ(refusal(R"(,"max_tokens":null)"), "max_tokens: is missing");
  EXPECT_EQ(refusal(R"(,"max_tokens":-1)"), "max_tokens: is -1, not from 0 to 2147483647");
  EXPECT_EQ(refusal(R"(,"max_tokens":9223372036854775808)"),
            "max_tokens: is 9223372036854775808, not from 0 to 2147483647");
  EXPECT_EQ(refusal(R"(,"max_tokens":1.5)"), "max_tokens: is a number, not a whole number");
}

TEST(ParseMessagesTest, ALastMessageOfTheAssistantsIsRefused) {
  const Json body = BodyOf(R"({"max_tokens":9,"messages":[{"role":"user","content":"hi"},
      {"role":"assistant","content":"The answer is ("}]})");
  EXPECT_EQ(RefusalOf(ParseMessages(body)),
            "messages: This model does not support assistant message prefill. The conversation "
            "must end with a user message.");
  EXPECT_EQ(RefusalOf(ParseCountTokens(body)), "");
}

TEST(ParseCountTokensTest, NeedsNoMaxTokens) {
  const auto request =
      ParseCountTokens(BodyOf(R"({"system":"s","messages":[{"role":"user","content":"hi"}]})"));
  ASSERT_TRUE(request.has_value()) << RefusalOf(request);
  EXPECT_EQ(DumpJson(request->api.messages),
            R"([{"role":"system","content":"s"},{"role":"user","content":"hi"}])");
  EXPECT_EQ(RefusalOf(ParseCountTokens(BodyOf(R"({"messages":[]})"))), "messages: is empty");
  EXPECT_EQ(DumpJson(CountTokensJson(17)), R"({"input_tokens":17})");
}

}  // namespace
}  // namespace folio
