// Replies that a grammar holds, on a real forward pass.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_testing.h"
#include "engine/run_request.h"
#include "formats/json.h"

namespace folio {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr std::int64_t kMostDraft = 8;

constexpr const char* kSchema =
    R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 3}},
        "required": ["name", "tags"], "additionalProperties": false})";

class EngineGrammarTest : public testing::Test {
 protected:
  // Logits are wider than the tokenizer in no file, but padded rows are in many: unused tokens.
  EngineGrammarTest() : file_(TinyModelSpec{.vocab = 352}) {
    model_ =
        LoadOrFail(file_.path(), {.threads = 2, .context = 512, .max_logit_rows = 4 + kMostDraft});
  }

  std::unique_ptr<EngineLoop> Loop(std::int64_t max_draft_tokens = 0) {
    auto loop = EngineLoop::Create(
        *model_, {.max_requests = 4, .max_draft_tokens = max_draft_tokens, .draft_row_cost = 0.1});
    EXPECT_TRUE(loop.has_value());
    model_->cache().pool().DropCached();
    return *std::move(loop);
  }
  Result<Outcome> Run(const Request& request, std::int64_t max_draft_tokens = 0) {
    const auto loop = Loop(max_draft_tokens);
    auto outcome = RunRequest(*loop, 1, request);
    EXPECT_EQ(loop->CheckIntegrity(), "");
    return outcome;
  }
  static Request Held(ReplyGrammar::Kind kind, const std::string& text, std::uint64_t seed = 0) {
    Request request{.prompt = TestPrompt(40), .max_tokens = 300};
    request.grammar = {.kind = kind, .text = text};
    request.sampling.seed = seed;
    return request;
  }
  static std::vector<std::int32_t> TokensOf(const Reply& reply) {
    std::vector<std::int32_t> tokens;
    for (const Sample& sample : reply.samples) tokens.push_back(sample.token);
    return tokens;
  }

  TinyModelFile file_;
  std::unique_ptr<LoadedModel> model_;
};

TEST_F(EngineGrammarTest, EveryChoiceIsADocumentOfTheSchema) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Request request = Held(ReplyGrammar::Kind::kJsonSchema, kSchema, seed);
    request.choices = 3;
    const auto outcome = Run(request);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().Message();
    for (const Reply& reply : outcome->choices) {
      ASSERT_EQ(reply.finish_reason, FinishReason::kStop) << reply.text;
      const Json json = Json::parse(reply.text, nullptr, /*allow_exceptions=*/false);
      ASSERT_FALSE(json.is_discarded()) << reply.text;
      EXPECT_TRUE(json["name"].is_string());
      EXPECT_LE(json["tags"].size(), 3U);
      EXPECT_EQ(json.size(), 2U);
    }
  }
}

TEST_F(EngineGrammarTest, AReplyThatIsCompleteEndsItself) {
  const auto outcome = Run(Held(ReplyGrammar::Kind::kRegex, "abc"));
  ASSERT_TRUE(outcome.has_value());
  const Reply& reply = outcome->choices.front();
  EXPECT_EQ(reply.text, "abc");
  EXPECT_EQ(reply.samples.size(), 3U);
  EXPECT_EQ(reply.finish_reason, FinishReason::kStop);
}

TEST_F(EngineGrammarTest, MaxTokensCutsAReplyShort) {
  Request request = Held(ReplyGrammar::Kind::kRegex, "[ab]{50}");
  request.max_tokens = 20;
  const auto outcome = Run(request);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_THAT(outcome->choices.front().text, ContainsRegex("^[ab]{20}$"));
  EXPECT_EQ(outcome->choices.front().finish_reason, FinishReason::kLength);
}

TEST_F(EngineGrammarTest, AStopStringEndsAReplyBeforeItsGrammarDoes) {
  Request request = Held(ReplyGrammar::Kind::kRegex, "abcdef");
  request.stop = {"cd"};
  const auto outcome = Run(request);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->choices.front().text, "ab");
}

TEST_F(EngineGrammarTest, DraftsChangeNothing) {
  std::int64_t accepted = 0;
  for (const float temperature : {0.0F, 0.7F}) {
    for (const char* grammar : {"(abcabd|abcabe)*", "([a-f]{3},){30}", "(a|b|\\{\"x\":1\\})+"}) {
      Request request = Held(ReplyGrammar::Kind::kRegex, grammar, 5);
      request.sampling.temperature = temperature;
      request.choices = 2;
      request.max_tokens = 150;
      const auto plain = Run(request);
      const auto drafted = Run(request, kMostDraft);
      ASSERT_TRUE(plain && drafted);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(TokensOf(plain->choices[i]), TokensOf(drafted->choices[i]));
        EXPECT_EQ(plain->choices[i].text, drafted->choices[i].text);
        EXPECT_EQ(plain->choices[i].finish_reason, drafted->choices[i].finish_reason);
      }
      accepted += drafted->usage.accepted_tokens;
    }
  }
  EXPECT_GT(accepted, 100) << "nothing was drafted";
}

TEST_F(EngineGrammarTest, RequestsBesideOneThatIsHeldAreAsAlone) {
  Request plain{.prompt = TestPrompt(30, 3), .max_tokens = 40, .ignore_end_tokens = true};
  plain.sampling.seed = 9;
  const auto alone = Run(plain);
  ASSERT_TRUE(alone.has_value());
  const auto loop = Loop();
  const Request held = Held(ReplyGrammar::Kind::kJsonSchema, kSchema);
  auto grammars = loop->CompileGrammar(held);
  ASSERT_TRUE(grammars.has_value());
  const auto held_sink = std::make_shared<CollectingSink>();
  const auto plain_sink = std::make_shared<CollectingSink>();
  loop->Submit(1, held, held_sink, *std::move(grammars));
  loop->Submit(2, plain, plain_sink);
  while (loop->Step()) {
  }
  EXPECT_EQ(TokensOf(plain_sink->outcome->choices.front()), TokensOf(alone->choices.front()));
  EXPECT_EQ(TokensOf(held_sink->outcome->choices.front()), TokensOf(Run(held)->choices.front()));
}

TEST_F(EngineGrammarTest, AGrammarThatGetsTooComplexEndsItsOwnRequest) {
  EngineLoopOptions options{.max_requests = 4};
  options.on_logits = [](std::uint64_t request, int /*choice*/, std::span<float> logits) {
    if (request == 1) logits['x'] = 100;
  };
  const auto loop = *EngineLoop::Create(*model_, options);
  const Request bad = Held(ReplyGrammar::Kind::kLark,
                           "start: a a a a a a a a \"y\"\na: b? b? b? b? b?\nb: c* d*\n"
                           "c: \"x\" | \"xx\"\nd: \"x\"+ | c\n");
  Request good{.prompt = TestPrompt(30, 3), .max_tokens = 200, .ignore_end_tokens = true};
  auto grammars = loop->CompileGrammar(bad);
  ASSERT_TRUE(grammars.has_value()) << grammars.error().Message();
  const auto bad_sink = std::make_shared<CollectingSink>();
  const auto good_sink = std::make_shared<CollectingSink>();
  loop->Submit(1, bad, bad_sink, *std::move(grammars));
  loop->Submit(2, good, good_sink);
  while (loop->Step()) {
  }
  EXPECT_EQ(loop->CheckIntegrity(), "");
  const Reply& failed = bad_sink->outcome->choices.front();
  EXPECT_EQ(failed.finish_reason, FinishReason::kError);
  EXPECT_THAT(failed.error.Message(), HasSubstr("grammar: "));
  EXPECT_EQ(good_sink->outcome->choices.front().finish_reason, FinishReason::kLength);
}

TEST_F(EngineGrammarTest, WhatCannotBeUsedIsRefused) {
  auto refusal = Run(Held(ReplyGrammar::Kind::kJsonSchema, R"({"$ref": "http://x/y"})"));
  ASSERT_FALSE(refusal.has_value());
  EXPECT_EQ(refusal.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(refusal.error().Message(), HasSubstr("grammar: JSON schema: "));
  Request request = Held(ReplyGrammar::Kind::kRegex, "a");
  request.ignore_end_tokens = true;
  refusal = Run(request);
  ASSERT_FALSE(refusal.has_value());
  EXPECT_THAT(refusal.error().Message(), HasSubstr("end tokens"));
}

}  // namespace
}  // namespace folio
