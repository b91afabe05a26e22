// Faults and edges of a request's life: each ends that request with a clear error and leaves the
// pool whole.
#include "engine/engine_loop.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_testing.h"

namespace folio {
namespace {

using testing::HasSubstr;

class EngineLoopTest : public testing::Test {
 protected:
  EngineLoopTest() : file_(TinyModelSpec{}) {}

  void Open(LoadOptions options, const EngineLoopOptions& loop_options = {}) {
    if (options.pool == PoolSize::kContexts) {
      options.pool = PoolSize::kGiven;
      options.num_blocks = 64;
    }
    options.threads = 1;
    options.context = 256;
    options.max_logit_rows = loop_options.max_requests;
    model_ = LoadOrFail(file_.path(), options);
    ASSERT_NE(model_, nullptr);
    auto loop = EngineLoop::Create(*model_, loop_options);
    ASSERT_TRUE(loop.has_value());
    loop_ = *std::move(loop);
  }

  static Request Greedy(std::vector<TokenId> prompt, std::int64_t max_tokens) {
    return {.prompt = std::move(prompt),
            .sampling = {.temperature = 0.0F},
            .max_tokens = max_tokens,
            .ignore_end_tokens = true};
  }

  std::shared_ptr<CollectingSink> Submit(const Request& request) {
    EXPECT_TRUE(loop_->Check(request).has_value());
    auto sink = std::make_shared<CollectingSink>();
    loop_->Submit(++last_id_, request, sink);
    return sink;
  }

  void RunAll() {
    while (loop_->Step()) {
    }
  }

  void ExpectWhole() {
    EXPECT_EQ(loop_->CheckIntegrity(), "");
    EXPECT_EQ(model_->cache().pool().num_free(), model_->cache().pool().num_blocks());
    EXPECT_EQ(loop_->num_requests(), 0U);
  }

  TinyModelFile file_;
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<EngineLoop> loop_;
  std::uint64_t last_id_ = 0;
};

TEST_F(EngineLoopTest, CancellingAtEveryStepLeavesThePoolWhole) {
  Open({}, {.max_batch_tokens = 16});
  for (int steps = 0; steps < 14; ++steps) {
    model_->cache().pool().DropCached();
    const auto sink = Submit(Greedy(TestPrompt(70), 8));
    const auto other = Submit(Greedy(TestPrompt(70), 3));
    for (int i = 0; i < steps; ++i) loop_->Step();
    loop_->Cancel(last_id_ - 1);
    ASSERT_TRUE(sink->outcome.has_value());
    RunAll();
    ASSERT_TRUE(other->outcome.has_value());
    EXPECT_EQ(other->outcome->choices[0].samples.size(), 3U) << steps;
    ExpectWhole();
  }
}

TEST_F(EngineLoopTest, NanLogitsEndTheirRequestOnly) {
  EngineLoopOptions options;
  options.on_logits = [](std::uint64_t request, int, std::span<float> logits) {
    if (request == 1) logits[3] = std::numeric_limits<float>::quiet_NaN();
  };
  Open({}, options);
  const auto bad = Submit(Greedy(TestPrompt(20), 5));
  const auto good = Submit(Greedy(TestPrompt(20), 5));
  RunAll();
  ASSERT_TRUE(bad->outcome && good->outcome);
  EXPECT_EQ(bad->outcome->choices[0].finish_reason, FinishReason::kError);
  EXPECT_NE(bad->outcome->choices[0].error.Message(), "");
  EXPECT_EQ(good->outcome->choices[0].samples.size(), 5U);
  ExpectWhole();
}

TEST(EngineRouterTest, ARouterThatGivesNoNumbersEndsItsRequestOnly) {
  const TinyModelFile file({.architecture = "qwen3moe", .experts = 6, .bad_token = 200});
  const std::unique_ptr<LoadedModel> model = LoadOrFail(file.path(), {.threads = 2});
  ASSERT_NE(model, nullptr);
  const auto loop = EngineLoop::Create(*model, {.max_batch_tokens = 24});
  ASSERT_TRUE(loop.has_value());
  std::vector<TokenId> poisoned = TestPrompt(40);
  std::ranges::replace(poisoned, 200, 1);
  std::vector<TokenId> sound = poisoned;
  poisoned[20] = 200;
  const auto submit = [&](std::uint64_t id, const std::vector<TokenId>& prompt) {
    auto sink = std::make_shared<CollectingSink>();
    (*loop)->Submit(id, {.prompt = prompt, .max_tokens = 5, .ignore_end_tokens = true}, sink);
    return sink;
  };
  const auto bad = submit(1, poisoned);
  const auto good = submit(2, sound);
  while ((*loop)->Step()) {
  }
  ASSERT_TRUE(bad->outcome && good->outcome);
  EXPECT_EQ(bad->outcome->choices[0].finish_reason, FinishReason::kError);
  EXPECT_EQ(bad->outcome->choices[0].error.Message(),
            "router: layer 0: a logit is infinite or not a number");
  EXPECT_EQ(good->outcome->choices[0].samples.size(), 5U);
  EXPECT_EQ((*loop)->CheckIntegrity(), "");
  // No block with such rows may be found later.
  const auto again = submit(3, poisoned);
  while ((*loop)->Step()) {
  }
  EXPECT_LE(again->outcome->usage.cached_tokens, 16);
}

TEST_F(EngineLoopTest, ABlockThatGetsNoMemoryEndsItsRequestWithAnError) {
  bool full = false;
  LoadOptions options;
  options.kv_commit = [&full](std::byte*, std::size_t) { return full ? ENOMEM : 0; };
  Open(options);
  full = true;
  const auto refused = Submit(Greedy(TestPrompt(40), 4));
  RunAll();
  ASSERT_TRUE(refused->outcome.has_value());
  EXPECT_EQ(refused->outcome->choices[0].finish_reason, FinishReason::kError);
  EXPECT_THAT(refused->outcome->choices[0].error.Message(), HasSubstr("KV cache"));
  ExpectWhole();
  full = false;
  const auto later = Submit(Greedy(TestPrompt(40), 4));
  RunAll();
  EXPECT_EQ(later->outcome->choices[0].samples.size(), 4U);
  ExpectWhole();
}

TEST_F(EngineLoopTest, AReplyThatGetsNoMemoryKeepsWhatItHasAndTheOthersGoOn) {
  bool full = false;
  LoadOptions options;
  options.pool = PoolSize::kGiven;
  options.num_blocks = 1024;
  options.kv_commit = [&full](std::byte*, std::size_t) { return full ? ENOMEM : 0; };
  Open(options);
  // All but four blocks of the first piece of memory are taken, and the system has no second one.
  BlockPool& pool = model_->cache().pool();
  const std::size_t block_bytes = model_->kv_layout().block_bytes;
  const auto piece = static_cast<std::int64_t>(KvStorage::kSlabBytes / block_bytes);
  ASSERT_LT(piece, options.num_blocks);
  std::vector<BlockId> taken;
  while (std::ssize(taken) < piece - 4) taken.push_back(pool.Allocate(0));
  const auto ended = Submit(Greedy(TestPrompt(40), 60));
  const auto other = Submit(Greedy(TestPrompt(10, 5), 5));
  loop_->Step();
  full = true;
  RunAll();
  ASSERT_TRUE(ended->outcome && other->outcome);
  const Reply& reply = ended->outcome->choices[0];
  EXPECT_EQ(reply.finish_reason, FinishReason::kError);
  EXPECT_THAT(reply.error.Message(), HasSubstr("KV cache"));
  EXPECT_GE(reply.samples.size(), 9U);
  EXPECT_LT(reply.samples.size(), 60U);
  EXPECT_EQ(other->outcome->choices[0].samples.size(), 5U);
  for (const BlockId id : taken) pool.Release(id);
  ExpectWhole();
}

TEST_F(EngineLoopTest, EndingTheLoopInTheMiddleOfAPromptCancelsIt) {
  Open({}, {.max_batch_tokens = 8});
  const auto sink = Submit(Greedy(TestPrompt(100), 4));
  loop_->Step();
  loop_->Step();
  loop_.reset();
  ASSERT_TRUE(sink->outcome.has_value());
  EXPECT_EQ(sink->outcome->choices[0].finish_reason, FinishReason::kCancelled);
  EXPECT_EQ(model_->cache().CheckIntegrity({}), "");
  EXPECT_EQ(model_->cache().pool().num_free(), model_->cache().pool().num_blocks());
}

TEST_F(EngineLoopTest, ACancelledPromptLeavesWhatItComputedInTheCache) {
  Open({}, {.max_batch_tokens = 32});
  Submit(Greedy(TestPrompt(100), 4));
  loop_->Step();
  loop_->Step();
  loop_->Cancel(1);
  const auto again = Submit(Greedy(TestPrompt(100), 1));
  RunAll();
  EXPECT_EQ(again->outcome->usage.cached_tokens, 64);
}

TEST_F(EngineLoopTest, CachedTokensGoUpInWholeBlocksAndStopOneShortOfThePrompt) {
  Open({});
  Submit(Greedy(TestPrompt(128), 1));
  RunAll();
  for (const auto& [length, cached] :
       {std::pair{128, 127}, {127, 112}, {113, 112}, {112, 111}, {17, 16}, {16, 15}, {15, 0}}) {
    const auto sink = Submit(Greedy(TestPrompt(length), 1));
    RunAll();
    EXPECT_EQ(sink->outcome->usage.cached_tokens, cached) << length;
    EXPECT_EQ(sink->outcome->usage.computed_tokens, length - cached) << length;
  }
}

TEST_F(EngineLoopTest, PromptsThatWaitAreToldWhatIsBeforeThem) {
  Open({}, {.max_requests = 1, .max_batch_tokens = 16});
  const auto first = Submit(Greedy(TestPrompt(70), 3));
  const auto second = Submit(Greedy(TestPrompt(40, 9), 3));
  loop_->Step();
  ASSERT_EQ(first->progress.size(), 1U);
  EXPECT_EQ(first->progress[0].prompt_tokens, 70);
  EXPECT_EQ(first->progress[0].computed_tokens, 16);
  EXPECT_EQ(first->progress[0].tokens_before, 0);
  EXPECT_GT(first->progress[0].seconds_left, 0);
  ASSERT_EQ(second->progress.size(), 1U);
  EXPECT_EQ(second->progress[0].computed_tokens, 0);
  EXPECT_EQ(second->progress[0].tokens_before, 54);
  EXPECT_LT(second->progress[0].seconds_left, 0);  // how long replies take nobody knows yet
  EXPECT_GT(loop_->SecondsUntilRoom(), 0);
  RunAll();
}

TEST_F(EngineLoopTest, OwnersTakeTurns) {
  Open({}, {.max_requests = 1});
  std::vector<std::shared_ptr<CollectingSink>> many;
  Request request = Greedy(TestPrompt(20), 3);
  request.owner = "many";
  for (int i = 0; i < 10; ++i) many.push_back(Submit(request));
  loop_->Step();
  request.owner = "one";
  const auto one = Submit(request);
  while (!one->outcome) loop_->Step();
  EXPECT_LE(std::ranges::count_if(many, [](const auto& sink) { return sink->outcome.has_value(); }),
            2);
  RunAll();
}

TEST_F(EngineLoopTest, ChoicesShareTheirPrompt) {
  Open({});
  Request request = Greedy(TestPrompt(40), 6);
  request.choices = 4;
  request.sampling = {.temperature = 1.5F, .seed = 3};
  const auto sink = Submit(request);
  RunAll();
  ASSERT_TRUE(sink->outcome.has_value());
  EXPECT_EQ(sink->outcome->usage.computed_tokens, 40 + 4 * 5);
  EXPECT_EQ(sink->outcome->usage.generated_tokens, 24);
  EXPECT_NE(sink->outcome->choices[0].text, sink->outcome->choices[1].text);
  ExpectWhole();
}

TEST_F(EngineLoopTest, SaltsKeepTenantsApart) {
  Open({});
  Request request = Greedy(TestPrompt(64), 1);
  request.cache_salt = "a";
  Submit(request);
  RunAll();
  request.cache_salt = "b";
  const auto other = Submit(request);
  RunAll();
  EXPECT_EQ(other->outcome->usage.cached_tokens, 0);
  const auto same = Submit(request);
  RunAll();
  EXPECT_EQ(same->outcome->usage.cached_tokens, 63);
}

TEST_F(EngineLoopTest, WhatCannotBeServedIsRefusedByName) {
  Open({});
  const auto why = [&](const Request& request) {
    const Status status = loop_->Check(request);
    return status ? std::string() : status.error().Message();
  };
  EXPECT_THAT(why(Greedy({}, 1)), HasSubstr("empty"));
  EXPECT_THAT(why(Greedy({1, 288}, 1)), HasSubstr("token 288"));
  EXPECT_THAT(why(Greedy(TestPrompt(256), 1)), HasSubstr("256"));
  Request request = Greedy(TestPrompt(4), 1);
  request.choices = 65;
  EXPECT_THAT(why(request), HasSubstr("choices"));
  request = Greedy(TestPrompt(4), 1);
  request.sampling.top_p = 2.0F;
  EXPECT_THAT(why(request), HasSubstr("top"));
  request = Greedy(TestPrompt(4), 1);
  request.stop = {std::string(1 << 20, 'a')};
  EXPECT_THAT(why(request), HasSubstr("1048576 bytes"));
  request.stop = std::vector<std::string>(2000, "a");
  EXPECT_THAT(why(request), HasSubstr("2000 strings"));
  request = Greedy(TestPrompt(4), 1);
  request.retention = static_cast<CacheRetention>(200);
  EXPECT_THAT(why(request), HasSubstr("200"));
  request = Greedy(TestPrompt(4), 1);
  request.parts = {{"tools", 3}, {"system", 1}};
  EXPECT_THAT(why(request), HasSubstr("system"));
  request.parts = {{"system", -1}};
  EXPECT_THAT(why(request), HasSubstr("-1"));
  request.parts = {{"system", 0}, {"user", 5}};
  EXPECT_THAT(why(request), HasSubstr("user"));
  request.parts = {{"system", 0}, {"user", 0}, {"reply start", 4}};
  EXPECT_EQ(why(request), "");
}

TEST_F(EngineLoopTest, NumbersOutOfAllProportionAreServed) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Open({}, {.prompt_log_bytes = 0});
  for (const std::int64_t number : {kMost, -kMost - 1}) {
    Request request = Greedy(TestPrompt(255), number);
    request.retention = CacheRetention::k1Hour;
    request.retained_tokens = number;
    request.priority =
        number > 0 ? std::numeric_limits<int>::max() : std::numeric_limits<int>::min();
    request.cache_salt = std::string(1 << 20, 's');
    request.parts = {{std::string(1 << 20, 'p'), 0}};
    const auto sink = Submit(request);
    RunAll();
    ASSERT_TRUE(sink->outcome.has_value());
    EXPECT_EQ(sink->outcome->choices[0].samples.size(), 1U);
    EXPECT_EQ(sink->outcome->choices[0].finish_reason, FinishReason::kLength);
    ExpectWhole();
  }
}

// What a mark keeps is the prompt: a reply is not sent again by everyone.
TEST_F(EngineLoopTest, AMarkStaysInThePrompt) {
  Open({});
  Request request = Greedy(TestPrompt(32), 40);
  request.retention = CacheRetention::k1Hour;
  request.retained_tokens = 1000;
  Submit(request);
  RunAll();
  const BlockPool& pool = model_->cache().pool();
  int marked = 0;
  int hashed = 0;
  for (BlockId id = 0; id < pool.num_blocks(); ++id) {
    hashed += static_cast<int>(pool.block(id).hashed);
    marked += static_cast<int>(pool.block(id).retention != Retention::kNone);
  }
  EXPECT_EQ(hashed, 4);
  EXPECT_EQ(marked, 2);
}

TEST_F(EngineLoopTest, ManyChoicesShareAPoolThatHoldsOneOfThem) {
  LoadOptions options;
  options.pool = PoolSize::kGiven;
  options.num_blocks = 16;  // one context
  Open(options, {.max_requests = 16, .max_batch_tokens = 5});
  Request request = Greedy(TestPrompt(100), -1);
  request.choices = 16;
  request.sampling = {.temperature = 1.0F, .seed = 4};
  const auto sink = Submit(request);
  RunAll();
  ASSERT_TRUE(sink->outcome.has_value());
  for (const Reply& reply : sink->outcome->choices) EXPECT_EQ(reply.samples.size(), 156U);
  EXPECT_GT(model_->trace().totals(EventType::kPreempted).count, 0U);
  ExpectWhole();
}

TEST_F(EngineLoopTest, OneRowAStepServesAll) {
  Open({}, {.max_requests = 4, .max_batch_tokens = 1});
  std::vector<std::shared_ptr<CollectingSink>> sinks;
  for (int i = 0; i < 6; ++i) sinks.push_back(Submit(Greedy(TestPrompt(20, i / 2), 3)));
  RunAll();
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->outcome.has_value());
    EXPECT_EQ(sink->outcome->choices[0].samples.size(), 3U);
  }
  ExpectWhole();
}

TEST_F(EngineLoopTest, AReplyEndsWhereThePoolDoes) {
  LoadOptions options;
  options.pool = PoolSize::kGiven;
  options.num_blocks = 8;  // half a context
  Open(options);
  const auto sink = Submit(Greedy(TestPrompt(50), -1));
  for (int i = 0; i < 1000 && loop_->Step(); ++i) {
  }
  ASSERT_TRUE(sink->outcome.has_value());
  EXPECT_EQ(sink->outcome->choices[0].finish_reason, FinishReason::kLength);
  EXPECT_EQ(sink->outcome->choices[0].samples.size(), 8U * 16 - 50);
  ExpectWhole();
}

TEST_F(EngineLoopTest, EventsCountWhatTheOutcomesTell) {
  LoadOptions options;
  options.pool = PoolSize::kGiven;
  options.num_blocks = 20;
  Open(options, {.max_requests = 8, .max_batch_tokens = 33});
  std::vector<std::shared_ptr<CollectingSink>> sinks;
  for (int i = 0; i < 6; ++i) {
    Request request = Greedy(TestPrompt(60 + i, i / 2), 30);
    request.choices = 1 + i % 3;
    sinks.push_back(Submit(request));
  }
  loop_->Step();
  loop_->Cancel(3);  // of three choices, and still in the queue
  RunAll();
  std::int64_t generated = 0;
  std::int64_t computed = 0;
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->outcome.has_value());
    generated += sink->outcome->usage.generated_tokens;
    computed += sink->outcome->usage.computed_tokens;
  }
  const Trace& trace = model_->trace();
  EXPECT_EQ(trace.totals(EventType::kFinished).count, 2U * (1 + 2 + 3) - 2);
  EXPECT_EQ(trace.totals(EventType::kFinished).a, generated);
  EXPECT_EQ(trace.totals(EventType::kScheduled).count, 5U);
  EXPECT_GT(trace.totals(EventType::kPreempted).count, 0U);
  EXPECT_EQ(trace.totals(EventType::kResumed).count, trace.totals(EventType::kPreempted).count);
  EXPECT_EQ(trace.totals(EventType::kChunk).b, computed);
  const Snapshot snapshot = loop_->TakeSnapshot(false);
  EXPECT_EQ(snapshot.computed_tokens, static_cast<std::uint64_t>(computed));
  EXPECT_EQ(snapshot.generated_tokens, static_cast<std::uint64_t>(generated));
}

// What a prompt that was cancelled never computed was not evicted either.
TEST_F(EngineLoopTest, ACancelledPromptIsRememberedAsFarAsItCame) {
  Open({}, {.max_batch_tokens = 32, .prompt_log_bytes = 1 << 20});
  Submit(Greedy(TestPrompt(100), 4));
  loop_->Step();
  loop_->Step();
  loop_->Cancel(1);
  const auto again = Submit(Greedy(TestPrompt(100), 1));
  RunAll();
  const MissReport& report = again->outcome->cache;
  EXPECT_EQ(report.cached_tokens, 64);
  EXPECT_EQ(report.matched_tokens, 64);
  EXPECT_EQ(report.cause, MissCause::kGoesOn);
}

TEST_F(EngineLoopTest, TenThousandRequestsLeaveNothingBehind) {
  LoadOptions options;
  options.pool = PoolSize::kGiven;
  options.num_blocks = 20;
  Open(options, {.max_requests = 8});
  int finished = 0;
  for (int i = 0; i < 10000; ++i) {
    Submit(Greedy(TestPrompt(8 + i % 50, i % 7), 1 + i % 3));
    if (i % 8 == 7) RunAll();
    finished += static_cast<int>(loop_->num_requests() == 0);
  }
  RunAll();
  EXPECT_GT(finished, 1000);
  const BlockPoolStats stats = model_->cache().pool().stats();
  EXPECT_EQ(stats.free + stats.cached, stats.total);
  ExpectWhole();
}

}  // namespace
}  // namespace folio
