#include "api/openai_request.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace folio {
namespace {

Json Body(const std::string& text) {
  auto parsed = ParseJson(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(Json());
}

// A chat body with these further members.
Result<ApiRequest> Chat(const std::string& members) {
  return ParseChatCompletion(Body(R"({"messages":[{"role":"user","content":"hi"}])" +
                                  (members.empty() ? "" : "," + members) + "}"));
}
Result<ApiRequest> Completion(const std::string& members) {
  return ParseCompletion(Body("{" + members + "}"));
}
Result<ApiRequest> Messages(const std::string& messages) {
  return ParseChatCompletion(Body(R"({"messages":)" + messages + "}"));
}
std::string Refusal(const Result<ApiRequest>& request) {
  return request ? "" : request.error().Message();
}

TEST(ParseChatCompletionTest, DefaultsAreOpenAis) {
  const auto chat = Chat("");
  ASSERT_TRUE(chat.has_value());
  const SamplingParams& sampling = chat->request.sampling;
  EXPECT_EQ(sampling.temperature, 1.0F);
  EXPECT_EQ(sampling.top_p, 1.0F);
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(sampling.min_p, 0.0F);
  EXPECT_EQ(sampling.repeat_penalty, 1.0F);
  EXPECT_FALSE(sampling.logprobs.has_value());
  EXPECT_EQ(chat->request.max_tokens, -1);
  EXPECT_EQ(chat->request.choices, 1);
  EXPECT_FALSE(chat->seed.has_value());
  EXPECT_FALSE(chat->stream);
  EXPECT_TRUE(chat->variables.is_null());
  EXPECT_TRUE(chat->prompts.empty());
}

TEST(ParseChatCompletionTest, EveryFieldIsRead) {
  const auto chat = Chat(R"("model":"m","temperature":0,"top_p":0.5,"top_k":7,"min_p":0.1,
      "repeat_penalty":1.5,"presence_penalty":-2,"frequency_penalty":2,"n":3,"seed":-1,
      "stop":["a","b"],"max_tokens":5,"max_completion_tokens":9,"logprobs":true,"top_logprobs":4,
      "priority":-3,"cache_salt":"s","prompt_cache_retention":"24h","prompt_cache_key":"k",
      "user":"u","stream":true,"chat_template_kwargs":{"enable_thinking":false})");
  ASSERT_TRUE(chat.has_value()) << Refusal(chat);
  const SamplingParams& sampling = chat->request.sampling;
  EXPECT_EQ(chat->model, "m");
  EXPECT_EQ(sampling.temperature, 0.0F);
  EXPECT_EQ(sampling.top_p, 0.5F);
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_EQ(sampling.min_p, 0.1F);
  EXPECT_EQ(sampling.repeat_penalty, 1.5F);
  EXPECT_EQ(sampling.presence_penalty, -2.0F);
  EXPECT_EQ(sampling.frequency_penalty, 2.0F);
  EXPECT_EQ(sampling.logprobs, 4);
  EXPECT_EQ(chat->request.choices, 3);
  EXPECT_EQ(chat->seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(chat->request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(chat->request.max_tokens, 9);
  EXPECT_EQ(chat->request.priority, -3);
  EXPECT_EQ(chat->request.cache_salt, "s");
  EXPECT_EQ(chat->request.retention, CacheRetention::k24Hours);
  EXPECT_TRUE(chat->stream);
  EXPECT_EQ(DumpJson(chat->variables), R"({"enable_thinking":false})");
  EXPECT_EQ(chat->session, "k");
}

TEST(ParseChatCompletionTest, UnknownAndNullFieldsPass) {
  const auto chat = Chat(R"("temperature":null,"n":null,"stop":null,"tools":null,"tool_choice":null,
      "response_format":null,"seed":null,"max_tokens":null,"logprobs":null,"logit_bias":null,
      "store":true,"metadata":{"a":"b"},"service_tier":"auto","client_metadata":[1],
      "parallel_tool_calls":true,"reasoning_effort":"low","functions":[],"logit_bias":{})");
  EXPECT_EQ(Refusal(chat), "");
}

TEST(ParseChatCompletionTest, ContentsBecomeOneForm) {
  const auto chat = Messages(R"([
      {"role":"developer","content":"rules"},
      {"role":"user","content":[{"type":"text","text":"one ","cache_control":{"type":"ephemeral"}},
                                {"type":"text","text":"two"}],"id":"msg_1"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","index":0,
          "function":{"name":"f","arguments":"{\"a\": 1}"}}]},
      {"role":"tool","content":"3","tool_call_id":"c1"},
      {"role":"assistant","reasoning_content":"hm","content":""},
      {"role":"assistant","tool_calls":[]}])");
  ASSERT_TRUE(chat.has_value()) << Refusal(chat);
  EXPECT_EQ(DumpJson(chat->messages),
            R"([{"role":"system","content":"rules"},{"role":"user","content":"one two"},)"
            R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",)"
            R"("function":{"name":"f","arguments":"{\"a\": 1}"}}]},)"
            R"({"role":"tool","content":"3","tool_call_id":"c1"},)"
            R"({"role":"assistant","content":"","reasoning_content":"hm"},)"
            R"({"role":"assistant","content":""}])");
}

TEST(ParseChatCompletionTest, ToolsAreTemplateVariablesInTheirAuthorsOrder) {
  const std::string tools =
      R"("tools":[{"function":{"parameters":{"type":"object","properties":{"z":{},"a":{}}},
      "name":"f","strict":false,"description":"d"},"type":"function","cache_control":{}}])";
  const auto chat = Chat(tools + R"(,"tool_choice":"auto")");
  ASSERT_TRUE(chat.has_value()) << Refusal(chat);
  EXPECT_EQ(DumpJson(TemplateVariables(*chat)),
            R"({"tools":[{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object","properties":{"z":{},"a":{}}}}}]})");
  EXPECT_EQ(DumpJson(TemplateVariables(*Chat(tools + R"(,"tool_choice":"none")"))), "{}");
}

TEST(ParseChatCompletionTest, ToolsOfOtherServersAreLeftOut) {
  const auto chat = Chat(R"("tools":[{"type":"web_search","external_web_access":true},
      {"type":"custom","custom":{"name":"patch","description":"d","format":{"type":"grammar",
       "grammar":{"syntax":"regex","definition":"a+"}}}}],
      "tool_choice":{"type":"custom","custom":{"name":"patch"}})");
  ASSERT_TRUE(chat.has_value()) << Refusal(chat);
  ASSERT_EQ(chat->tools.size(), 1U);
  EXPECT_EQ(chat->tools[0].kind, Tool::Kind::kCustom);
  EXPECT_EQ(chat->tools[0].grammar, "a+");
  EXPECT_TRUE(chat->tools[0].grammar_is_regex);
  EXPECT_EQ(chat->tool_choice.kind, ToolChoice::Kind::kNamed);
  EXPECT_EQ(chat->tool_choice.name, "patch");
}

TEST(ParseChatCompletionTest, AllowedToolsAreThoseThatMayBeCalled) {
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}},
      {"type":"function","function":{"name":"g"}}],)";
  const auto choice = [&](const std::string& allowed) {
    return Chat(tools + R"("tool_choice":{"type":"allowed_tools","allowed_tools":)" + allowed +
                "}");
  };
  const std::string g = R"([{"type":"function","function":{"name":"g"}},{"type":"web_search"}])";
  const auto required = choice(R"({"mode":"required","tools":)" + g + "}");
  ASSERT_TRUE(required.has_value()) << Refusal(required);
  EXPECT_EQ(required->tool_choice.kind, ToolChoice::Kind::kRequired);
  EXPECT_EQ(required->tool_choice.allowed, std::vector<std::string>{"g"});
  EXPECT_EQ(choice(R"({"tools":)" + g + "}")->tool_choice.kind, ToolChoice::Kind::kAuto);
  EXPECT_EQ(choice(R"({"tools":[]})")->tool_choice.kind, ToolChoice::Kind::kNone);
  EXPECT_EQ(Refusal(choice(R"({"tools":[{"type":"function","function":{"name":"h"}}]})")),
            "tool_choice.allowed_tools.tools[0].function.name: is 'h', none of the tools");
  EXPECT_EQ(Refusal(choice("{}")), "tool_choice.allowed_tools.tools: is missing");
}

TEST(ParseChatCompletionTest, WhatIsNoTextBecomesANoteIfAskedFor) {
  const auto chat = ParseChatCompletion(
      Body(R"({"messages":[{"role":"user","content":[{"type":"text","text":"see "},
           {"type":"image_url","image_url":{"url":"x"}}]}]})"),
      {.drop_media = true});
  ASSERT_TRUE(chat.has_value()) << Refusal(chat);
  EXPECT_EQ(DumpJson(chat->messages),
            R"([{"role":"user","content":"see [image left out: only text is read here]"}])");
}

TEST(ParseChatCompletionTest, ACustomCallIsOneOfAFunctionWithOneText) {
  const auto chat = Messages(R"([{"role":"assistant","content":null,"tool_calls":[
      {"id":"a","type":"custom","custom":{"name":"f","input":"x\"y"}}]},
      {"role":"tool","tool_call_id":"a"}])");
  ASSERT_TRUE(chat.has_value()) << Refusal(chat);
  EXPECT_EQ(DumpJson(chat->messages),
            R"([{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function",)"
            R"("function":{"name":"f","arguments":"{\"input\":\"x\\\"y\"}"}}]},)"
            R"({"role":"tool","content":"","tool_call_id":"a"}])");
}

TEST(ParseChatCompletionTest, AFormatIsReadWithItsSchema) {
  EXPECT_EQ(Chat(R"("response_format":{"type":"json_object"})")->format.kind,
            ReplyFormat::Kind::kJsonObject);
  const auto chat = Chat(R"("response_format":{"type":"json_schema","json_schema":
      {"name":"n","schema":{"type":"object"}}},"stream_options":{"include_usage":true})");
  ASSERT_TRUE(chat.has_value()) << Refusal(chat);
  EXPECT_EQ(chat->format.kind, ReplyFormat::Kind::kJsonSchema);
  EXPECT_EQ(chat->format.name, "n");
  EXPECT_EQ(DumpJson(chat->format.schema), R"({"type":"object"})");
  EXPECT_TRUE(chat->stream_usage);
}

TEST(ParseChatCompletionTest, AWrongTypeIsNamedByItsPath) {
  EXPECT_EQ(Refusal(Messages(R"([{"role":"user","content":"a"},{"role":"user","content":7}])")),
            "messages[1].content: is a number, not a string or a list of parts");
  EXPECT_EQ(Refusal(Messages(R"([{"role":"user","content":[{"type":"text","text":{}}]}])")),
            "messages[0].content[0].text: is an object, not a string");
  EXPECT_EQ(Refusal(Messages(R"(["hi"])")), "messages[0]: is a string, not an object");
  EXPECT_EQ(Refusal(Messages(R"([{"content":"x"}])")), "messages[0].role: is missing");
  EXPECT_EQ(Refusal(Messages(R"([{"role":"wizard","content":"x"}])")),
            "messages[0].role: is 'wizard', none of system, developer, user, assistant, tool");
  EXPECT_EQ(Refusal(Messages("[]")), "messages: is empty");
  EXPECT_EQ(Refusal(Messages("{}")), "messages: is an object, not a list");
  EXPECT_EQ(Refusal(Messages("null")), "messages: is missing");
  EXPECT_EQ(Refusal(ParseChatCompletion(Body("[]"))), "is a list, not an object");
  EXPECT_EQ(
      Refusal(Messages(
          R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}])")),
      "messages[0].tool_calls[0].function.arguments: is an object, not a string");
  EXPECT_EQ(Refusal(Chat(R"("temperature":"hot")")), "temperature: is a string, not a number");
  EXPECT_EQ(Refusal(Chat(R"("max_tokens":1.5)")), "max_tokens: is a number, not a whole number");
  EXPECT_EQ(Refusal(Chat(R"("stop":["a",2])")), "stop[1]: is a number, not a string");
  EXPECT_EQ(Refusal(Chat(R"("stream":"yes")")), "stream: is a string, not true or false");
  EXPECT_EQ(Refusal(Chat(R"("user":5)")), "user: is a number, not a string");
  EXPECT_EQ(Refusal(Chat(R"("seed":1.5)")), "seed: is a number, not a whole number");
  EXPECT_EQ(
      Refusal(Chat(R"("tools":[{"type":"function","function":{"name":"f","parameters":"x"}}])")),
      "tools[0].function.parameters: is a string, not an object");
}

TEST(ParseChatCompletionTest, AValueOutOfRangeIsNamed) {
  EXPECT_EQ(Refusal(Chat(R"("temperature":-1)")), "temperature: is -1, not from 0 to 100");
  EXPECT_EQ(Refusal(Chat(R"("top_p":1.5)")), "top_p: is 1.5, not from 0 to 1");
  EXPECT_EQ(Refusal(Chat(R"("n":0)")), "n: is 0, not from 1 to 128");
  EXPECT_EQ(Refusal(Chat(R"("n":1000000000)")), "n: is 1000000000, not from 1 to 128");
  EXPECT_EQ(Refusal(Chat(R"("max_tokens":9223372036854775808)")),
            "max_tokens: is 9223372036854775808, not from 1 to 2147483647");
  EXPECT_EQ(Refusal(Chat(R"("logprobs":true,"top_logprobs":21)")),
            "top_logprobs: is 21, not from 0 to 20");
  EXPECT_EQ(Refusal(Chat(R"("top_logprobs":2)")), "top_logprobs: needs logprobs: true");
  EXPECT_EQ(Refusal(Chat(R"("stop":"")")), "stop: is empty");
  EXPECT_EQ(Refusal(Chat(R"("prompt_cache_retention":"1y")")),
            "prompt_cache_retention: is '1y', not in_memory or 24h");
}

TEST(ParseChatCompletionTest, TopPZeroIsTheBestTokenAlone) {
  EXPECT_GT(Chat(R"("top_p":0)")->request.sampling.top_p, 0.0F);
  EXPECT_LT(Chat(R"("top_p":0)")->request.sampling.top_p, 1e-30F);
  EXPECT_GT(Chat(R"("top_p":1e-320)")->request.sampling.top_p, 0.0F);
  EXPECT_EQ(Chat(R"("top_k":-1)")->request.sampling.top_k, 0);
}

TEST(ParseChatCompletionTest, WhatCannotBeKeptIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tool_choice":"required")", "tool_choice: is required, of no tools"},
      {R"("tool_choice":{"type":"function","function":{"name":"f"}})",
       "tool_choice.function.name: is 'f', none of the tools"},
      {R"("tool_choice":"maybe")", "tool_choice: is 'maybe'"},
      {R"("tool_choice":1)", "tool_choice: is a number"},
      {R"("tools":[{"name":"f"}])", "tools[0].type: is missing"},
      {R"("response_format":{"type":"xml"})", "response_format.type: is 'xml'"},
      {R"("response_format":{"type":"json_schema"})", "response_format.json_schema: is missing"},
      {R"("response_format":{"type":"json_schema","json_schema":{}})",
       "response_format.json_schema.schema: is missing"},
      {R"("logit_bias":{"5":1})", "logit_bias: is not supported"},
      {R"("functions":[{"name":"f"}])", "functions: is not supported"},
      {R"("modalities":["text","audio"])", "modalities[1]: is not 'text'"},
      {R"("audio":{"voice":"x"})", "audio: is not supported"},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_EQ(Refusal(Chat(members)).substr(0, expected.size()), expected) << members;
  }
  EXPECT_EQ(
      Refusal(Messages(
          R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])")),
      "messages[0].content[0].type: is 'image_url': only text is read, no images, audio or files");
  EXPECT_EQ(Refusal(Chat(R"("response_format":{"type":"text"},"modalities":["text"])")), "");
}

TEST(ParseCompletionTest, PromptsAreTextOrIdsOrListsOfThem) {
  const auto text = Completion(R"("prompt":"a")");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->prompts, (std::vector<ApiPrompt>{std::string("a")}));
  EXPECT_EQ(text->request.max_tokens, 16);  // OpenAI's default
  EXPECT_TRUE(text->messages.is_null());
  EXPECT_EQ(Completion(R"("prompt":["a","b"])")->prompts,
            (std::vector<ApiPrompt>{std::string("a"), std::string("b")}));
  EXPECT_EQ(Completion(R"("prompt":[1,2])")->prompts,
            (std::vector<ApiPrompt>{std::vector<std::int32_t>{1, 2}}));
  EXPECT_EQ(Completion(R"("prompt":[[1],"x",[2,3]])")->prompts.size(), 3U);
  EXPECT_EQ(Completion(R"("prompt":"a","logprobs":0)")->request.sampling.logprobs, 0);
}

TEST(ParseCompletionTest, WrongPromptsAreNamedByTheirPath) {
  EXPECT_EQ(Refusal(Completion("")), "prompt: is missing");
  EXPECT_EQ(Refusal(Completion(R"("prompt":5)")),
            "prompt: is a number, not a string or a list of token ids");
  EXPECT_EQ(Refusal(Completion(R"("prompt":[])")), "prompt: is empty");
  EXPECT_EQ(Refusal(Completion(R"("prompt":["a",[]])")), "prompt[1]: is empty");
  EXPECT_EQ(Refusal(Completion(R"("prompt":[1,"a"])")), "prompt[1]: is a string, not a token id");
  EXPECT_EQ(Refusal(Completion(R"("prompt":[1,-2])")), "prompt[1]: is -2, no token id");
  EXPECT_EQ(Refusal(Completion(R"("prompt":[[1,18446744073709551615]])")),
            "prompt[0][1]: is 18446744073709551615, no token id");
  EXPECT_EQ(Refusal(Completion(R"("prompt":["a",{}])")),
            "prompt[1]: is an object, not a string or a list of token ids");
}

TEST(ParseCompletionTest, OnlyNeutralEchoSuffixAndBestOf) {
  EXPECT_EQ(Refusal(Completion(R"("prompt":"a","echo":false,"suffix":"","best_of":2,"n":2)")), "");
  EXPECT_EQ(Refusal(Completion(R"("prompt":"a","echo":true)")),
            "echo: is true: the prompt is not given back");
  EXPECT_EQ(Refusal(Completion(R"("prompt":"a","suffix":"b")")), "suffix: is not supported");
  EXPECT_EQ(Refusal(Completion(R"("prompt":"a","best_of":3)")),
            "best_of: is 3, not n: replies are not ranked");
}

TEST(ParseChatCompletionTest, PartsOfOtherClientsAreRead) {
  const auto request = ParseChatCompletion(Body(R"({"messages":[
      {"role":"user","content":[{"type":"input_text","text":"so?"}]},
      {"role":"assistant","reasoning":"hm","content":[{"type":"reasoning","text":"no"},
       {"type":"output_text","text":"Yes"},{"type":"thinking","thinking":"no"}]}]})"));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(DumpJson(request->messages),
            R"([{"role":"user","content":"so?"},)"
            R"({"role":"assistant","content":"Yes","reasoning_content":"hm"}])");
}

}  // namespace
}  // namespace folio
