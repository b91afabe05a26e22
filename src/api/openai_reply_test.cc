#include "api/openai_reply.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace folio {
namespace {

// 0 ends a reply; the bytes of 3 and 4 together are one character.
std::string_view Bytes(std::int32_t token) {
  static constexpr std::string_view kBytes[] = {"", "Hel", "lo", "\xc3", "\xa9", " end", " Hel"};
  return kBytes[token];
}

Reply MakeReply(std::string text, const std::vector<std::int32_t>& tokens,
                FinishReason reason = FinishReason::kStop) {
  Reply reply{.text = std::move(text), .samples = {}, .finish_reason = reason, .error = {}};
  for (const std::int32_t token : tokens) {
    reply.samples.push_back(
        {.token = token, .logprob = -0.5F, .top = {{token, -0.5F}, {2, -1.5F}}});
  }
  return reply;
}

Outcome MakeOutcome(std::vector<Reply> replies) {
  return {.usage = {.prompt_tokens = 100,
                    .cached_tokens = 96,
                    .computed_tokens = 9,
                    .generated_tokens = 5},
          .choices = std::move(replies)};
}

const ReplyHead kHead = {.id = "chatcmpl-1", .model = "m", .created = 7};

TEST(ChatCompletionJsonTest, IsOpenAisObject) {
  const Outcome outcome =
      MakeOutcome({MakeReply("Hello", {1, 2, 0}), MakeReply("Hel", {1}, FinishReason::kLength)});
  EXPECT_EQ(ChatCompletionJson(kHead, outcome, false, Bytes), Json::parse(R"({
      "id":"chatcmpl-1","object":"chat.completion","created":7,"model":"m",
      "choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},
                  "logprobs":null,"finish_reason":"stop"},
                 {"index":1,"message":{"role":"assistant","content":"Hel","refusal":null},
                  "logprobs":null,"finish_reason":"length"}],
      "usage":{"prompt_tokens":100,"completion_tokens":5,"total_tokens":105,
               "prompt_tokens_details":{"cached_tokens":96}}})"));
}

TEST(ChatCompletionJsonTest, LogprobsAreOfTheTextsTokens) {
  const auto content = [](const Reply& reply) {
    return ChatCompletionJson(kHead, MakeOutcome({reply}), true,
                              Bytes)["choices"][0]["logprobs"]["content"];
  };
  const Json list = content(MakeReply("Helloé", {1, 2, 3, 4, 0}));
  ASSERT_EQ(list.size(), 4U);  // without the end token
  EXPECT_EQ(list[0],
            Json::parse(R"({"token":"Hel","logprob":-0.5,"bytes":[72,101,108],"top_logprobs":[
      {"token":"Hel","logprob":-0.5,"bytes":[72,101,108]},{"token":"lo","logprob":-1.5,"bytes":[108,111]}]})"));
  EXPECT_EQ(list[2]["token"], "\xef\xbf\xbd");
  EXPECT_EQ(list[2]["bytes"], Json({0xc3}));
  EXPECT_EQ(content(MakeReply("Hello", {1, 2, 5, 0})).size(),
            2U);                                                 // a stop string's tokens left out
  EXPECT_EQ(content(MakeReply("Hell", {1, 2})).size(), 2U);      // one that begins before it stays
  EXPECT_EQ(content(MakeReply("Hello", {6, 2, 5})).size(), 2U);  // the text drops the first space
  EXPECT_EQ(content(MakeReply("", {0})).size(), 0U);
}

TEST(CompletionJsonTest, ChoicesAreNumberedThroughAllPrompts) {
  const std::vector<Outcome> outcomes = {MakeOutcome({MakeReply("Hel", {1}), MakeReply("lo", {2})}),
                                         MakeOutcome({MakeReply("Hello", {1, 2})})};
  const Json json =
      CompletionJson({.id = "cmpl-1", .model = "m", .created = 7}, outcomes, false, Bytes);
  EXPECT_EQ(json["object"], "text_completion");
  ASSERT_EQ(json["choices"].size(), 3U);
  EXPECT_EQ(json["choices"][2],
            Json::parse(R"({"index":2,"text":"Hello","logprobs":null,"finish_reason":"stop"})"));
  EXPECT_EQ(json["usage"],
            Json::parse(R"({"prompt_tokens":200,"completion_tokens":10,"total_tokens":210,
      "prompt_tokens_details":{"cached_tokens":192}})"));
}

TEST(CompletionJsonTest, LogprobsAreListsWithOffsets) {
  const std::vector<Outcome> outcomes = {MakeOutcome({MakeReply("Helé lo", {6, 3, 4, 2, 0})})};
  const Json json = CompletionJson(kHead, outcomes, true, Bytes);
  EXPECT_EQ(json["choices"][0]["logprobs"], Json::parse(R"({
      "tokens":[" Hel","bytes:\\xc3","bytes:\\xa9","lo"],"token_logprobs":[-0.5,-0.5,-0.5,-0.5],
      "top_logprobs":[{" Hel":-0.5,"lo":-1.5},{"bytes:\\xc3":-0.5,"lo":-1.5},{"bytes:\\xa9":-0.5,"lo":-1.5},{"lo":-0.5}],
      "text_offset":[0,3,4,4]})"));
}

TEST(ErrorJsonTest, ThePathIsTheParam) {
  const Error error{ErrorKind::kInput, "", "messages[2].content", "is a number"};
  EXPECT_EQ(ErrorJson(error), Json::parse(R"({"error":{"message":"messages[2].content: is a number",
      "type":"invalid_request_error","param":"messages[2].content","code":null}})"));
  EXPECT_EQ(HttpStatusOf(error), 400);
  const Error failure{ErrorKind::kRuntime, "engine", "logits", "NaN"};
  EXPECT_EQ(ErrorJson(failure)["error"]["type"], "server_error");
  EXPECT_TRUE(ErrorJson(failure)["error"]["param"].is_null());
  EXPECT_EQ(HttpStatusOf(failure), 500);
}

}  // namespace
}  // namespace folio
