// Drafts on a real forward pass: the same replies, in fewer steps.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_testing.h"
#include "engine/run_request.h"

namespace folio {
namespace {

constexpr std::int64_t kMostDraft = 8;

class EngineDraftTest : public testing::Test {
 protected:
  EngineDraftTest() : file_(TinyModelSpec{}) {
    model_ = LoadOrFail(
        file_.path(),
        {.threads = 2, .context = 512, .max_logit_rows = 4 + kMostDraft, .trace_events = 4096});
  }

  Result<Outcome> Run(const Request& request, std::int64_t max_draft_tokens) {
    auto loop = EngineLoop::Create(
        *model_, {.max_requests = 4, .max_draft_tokens = max_draft_tokens, .draft_row_cost = 0.1});
    if (!loop) return std::unexpected(loop.error());
    model_->cache().pool().DropCached();
    auto outcome = RunRequest(**loop, 1, request);
    EXPECT_EQ((*loop)->CheckIntegrity(), "");
    steps_ = (*loop)->TakeSnapshot(false).steps;
    return outcome;
  }

  static std::vector<std::int32_t> TokensOf(const Reply& reply) {
    std::vector<std::int32_t> tokens;
    for (const Sample& sample : reply.samples) tokens.push_back(sample.token);
    return tokens;
  }

  TinyModelFile file_;
  std::unique_ptr<LoadedModel> model_;
  std::uint64_t steps_ = 0;
};

TEST_F(EngineDraftTest, GreedyAndSeededRepliesAreThoseOfPlainDecoding) {
  std::int64_t accepted = 0;
  for (const float temperature : {0.0F, 0.3F, 1.0F}) {
    for (const float penalty : {1.0F, 1.3F}) {
      Request request{
          .prompt = TestPrompt(40), .max_tokens = 200, .ignore_end_tokens = true, .choices = 2};
      request.sampling.temperature = temperature;
      request.sampling.repeat_penalty = penalty;
      request.sampling.seed = 11;
      const auto plain = Run(request, 0);
      const auto plain_steps = steps_;
      const auto drafted = Run(request, kMostDraft);
      ASSERT_TRUE(plain && drafted);
      EXPECT_EQ(plain->usage.drafted_tokens, 0);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(TokensOf(plain->choices[i]), TokensOf(drafted->choices[i]));
        EXPECT_EQ(plain->choices[i].text, drafted->choices[i].text);
      }
      EXPECT_LE(drafted->usage.accepted_tokens, drafted->usage.drafted_tokens);
      EXPECT_LE(steps_, plain_steps);
      accepted += drafted->usage.accepted_tokens;
    }
  }
  EXPECT_GT(accepted, 100);  // a tiny model repeats itself
}

TEST(EngineDraftExpertsTest, TheRecordIsThatOfPlainDecoding) {
  const TinyModelFile file({.architecture = "qwen3moe", .experts = 6});
  const auto model =
      LoadOrFail(file.path(), {.threads = 2, .context = 512, .max_logit_rows = 4 + kMostDraft});
  ASSERT_NE(model, nullptr);
  Request request{.prompt = TestPrompt(40),
                  .max_tokens = 150,
                  .ignore_end_tokens = true,
                  .choices = 2,
                  .record_experts = true};
  request.sampling.temperature = 0.3F;
  std::vector<Outcome> outcomes;
  for (const std::int64_t drafts : {std::int64_t{0}, kMostDraft}) {
    auto loop = EngineLoop::Create(
        *model, {.max_requests = 4, .max_draft_tokens = drafts, .draft_row_cost = 0.1});
    ASSERT_TRUE(loop.has_value());
    model->cache().pool().DropCached();
    auto outcome = RunRequest(**loop, 1, request);
    ASSERT_TRUE(outcome.has_value());
    outcomes.push_back(*std::move(outcome));
  }
  EXPECT_GT(outcomes[1].usage.drafted_tokens, outcomes[1].usage.accepted_tokens);
  for (std::size_t i = 0; i < 2; ++i) {
    const RoutedExperts& plain = outcomes[0].choices[i].experts;
    EXPECT_EQ(plain.layers, 2);
    EXPECT_EQ(plain.top_k, 2);
    EXPECT_EQ(plain.experts.size(), (40U + 149U) * 2 * 2);
    EXPECT_EQ(plain.experts, outcomes[1].choices[i].experts.experts);
  }
}

TEST_F(EngineDraftTest, ACycleIsGeneratedInFarFewerSteps) {
  // Greedy decoding of a model with few states ends in a cycle sooner or later.
  Request request{.prompt = TestPrompt(40), .max_tokens = 400, .ignore_end_tokens = true};
  request.sampling.temperature = 0;
  const auto plain = Run(request, 0);
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(steps_, 400U);
  // Its reply as the prompt of another: all of it can be copied.
  const auto reply = TokensOf(plain->choices[0]);
  const auto drafted = Run(request, kMostDraft);
  ASSERT_TRUE(drafted.has_value());
  EXPECT_EQ(TokensOf(drafted->choices[0]), reply);
  EXPECT_EQ(static_cast<std::int64_t>(steps_), 400 - drafted->usage.accepted_tokens);
  EXPECT_EQ(drafted->usage.computed_tokens,
            40 + 399 + drafted->usage.drafted_tokens - drafted->usage.accepted_tokens);
}

TEST_F(EngineDraftTest, TheTraceTellsWhatWasProposedAndAccepted) {
  Request request{.prompt = TestPrompt(40), .max_tokens = 300, .ignore_end_tokens = true};
  request.sampling.temperature = 0;
  const EventTotals before = model_->trace().totals(EventType::kDrafted);
  const auto outcome = Run(request, kMostDraft);
  ASSERT_TRUE(outcome.has_value());
  const EventTotals& after = model_->trace().totals(EventType::kDrafted);
  EXPECT_EQ(after.a - before.a, outcome->usage.drafted_tokens);
  EXPECT_EQ(after.b - before.b, outcome->usage.accepted_tokens);
}

TEST_F(EngineDraftTest, ARefusedDraftsTokensAreNeverHit) {
  Request request{.prompt = TestPrompt(40), .max_tokens = 200, .ignore_end_tokens = true};
  request.sampling.temperature = 1.0F;
  auto loop = EngineLoop::Create(
      *model_, {.max_requests = 4, .max_draft_tokens = kMostDraft, .draft_row_cost = 0.1});
  ASSERT_TRUE(loop.has_value());
  const auto first = RunRequest(**loop, 1, request);
  ASSERT_TRUE(first.has_value());
  // The conversation goes on: what is found is prompt and reply, less the last token, which was
  // never computed.
  Request next = request;
  for (const std::int32_t token : TokensOf(first->choices[0])) next.prompt.push_back(token);
  next.prompt.push_back(5);
  const auto second = RunRequest(**loop, 2, next);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->usage.cached_tokens, (40 + 199) / 16 * 16);
}

}  // namespace
}  // namespace folio
