// The public engine: many threads in front, one loop inside.
#include "folio/engine.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_testing.h"

namespace folio {
namespace {

using testing::HasSubstr;

class EngineTest : public testing::Test {
 protected:
  EngineTest() : file_(TinyModelSpec{}) {}

  std::unique_ptr<Engine> Open(EngineOptions options = {}) {
    options.model = file_.path();
    if (options.threads == 0) options.threads = 1;
    if (options.context == 0) options.context = 256;
    options.memory = std::uint64_t{256} << 20;
    auto engine = Engine::Open(options);
    EXPECT_TRUE(engine.has_value()) << (engine ? "" : engine.error().Message());
    return engine ? *std::move(engine) : nullptr;
  }

  static Request Greedy(std::vector<TokenId> prompt, std::int64_t max_tokens) {
    return {.prompt = std::move(prompt),
            .sampling = {.temperature = 0.0F},
            .max_tokens = max_tokens,
            .ignore_end_tokens = true};
  }

  TinyModelFile file_;
};

TEST_F(EngineTest, APoolOfContextsHoldsSoManyAsFarAsTheBudgetGoes) {
  const auto blocks = [&](std::int64_t contexts) {
    const auto engine = Open({.block_size = 16, .one_context = true, .contexts = contexts});
    return engine == nullptr ? 0 : engine->TakeSnapshot().blocks_total;
  };
  const std::int64_t one = blocks(1);
  EXPECT_GT(one, 0);
  EXPECT_EQ(blocks(3), 3 * one);
  const std::int64_t most = blocks(std::int64_t{1} << 40);
  EXPECT_EQ(most, Open()->TakeSnapshot().blocks_total);
  EXPECT_GT(most, 3 * one);
}

TEST_F(EngineTest, DeltasAddUpToTheReply) {
  const auto engine = Open();
  auto stream = engine->Submit(Greedy(TestPrompt(30), 20));
  ASSERT_TRUE(stream.has_value());
  std::string text;
  std::size_t tokens = 0;
  while (const auto delta = stream->Next()) {
    text += delta->text;
    tokens += delta->samples.size();
  }
  EXPECT_EQ(tokens, 20U);
  EXPECT_EQ(text, stream->outcome().choices[0].text);
  EXPECT_EQ(stream->outcome().usage.generated_tokens, 20);
}

TEST_F(EngineTest, ManyThreadsGetWhatOneWouldGet) {
  const auto engine = Open({.threads = 2, .max_requests = 6});
  const auto alone = engine->Submit(Greedy(TestPrompt(50), 10))->Finish();
  ASSERT_TRUE(alone.has_value());
  std::vector<std::jthread> threads;
  std::vector<std::string> texts(16);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] {
      auto stream = engine->Submit(Greedy(TestPrompt(50), 10));
      if (!stream) return;
      if (const auto outcome = stream->Finish()) texts[i] = outcome->choices[0].text;
    });
  }
  threads.clear();
  for (const std::string& text : texts) EXPECT_EQ(text, alone->choices[0].text);
}

TEST_F(EngineTest, ADroppedStreamCancelsItsRequest) {
  const auto engine = Open();
  {
    const auto stream = engine->Submit(Greedy(TestPrompt(10), 200));
  }
  engine->Drain();
  const Snapshot snapshot = engine->TakeSnapshot();
  EXPECT_LT(snapshot.generated_tokens, 200U);
  EXPECT_EQ(snapshot.blocks_used, 0);
  EXPECT_EQ(snapshot.integrity, "");
}

TEST_F(EngineTest, AnEngineThatEndsEndsItsStreams) {
  auto engine = Open();
  auto stream = engine->Submit(Greedy(TestPrompt(10), 240));
  ASSERT_TRUE(stream.has_value());
  engine.reset();
  while (stream->Next()) {
  }
  EXPECT_EQ(stream->outcome().choices[0].finish_reason, FinishReason::kCancelled);
}

TEST_F(EngineTest, TheQueueHasABound) {
  const auto engine = Open({.max_requests = 1, .max_queue = 2});
  std::vector<Stream> streams;
  std::string refusal;
  for (int i = 0; i < 20 && refusal.empty(); ++i) {
    auto stream = engine->Submit(Greedy(TestPrompt(100, i), 150));
    if (stream) {
      streams.push_back(*std::move(stream));
    } else {
      refusal = stream.error().Message();
    }
  }
  EXPECT_THAT(refusal, HasSubstr("--max-queue"));
}

TEST_F(EngineTest, DrainingRefusesAndFinishes) {
  const auto engine = Open();
  auto stream = engine->Submit(Greedy(TestPrompt(10), 30));
  engine->Drain();
  EXPECT_FALSE(engine->Submit(Greedy(TestPrompt(10), 1)).has_value());
  EXPECT_EQ(stream->Finish()->choices[0].samples.size(), 30U);
}

TEST_F(EngineTest, ResettingTheCacheForgetsWhatNobodyUses) {
  const auto engine = Open();
  ASSERT_TRUE(engine->Submit(Greedy(TestPrompt(64), 1))->Finish().has_value());
  EXPECT_EQ(engine->TakeSnapshot().blocks_cached, 4);
  EXPECT_EQ(engine->ResetCache(), 4);
  const auto again = engine->Submit(Greedy(TestPrompt(64), 1))->Finish();
  EXPECT_EQ(again->usage.cached_tokens, 0);
}

TEST_F(EngineTest, TheSnapshotShowsTablesAndBlocks) {
  const auto engine = Open();
  auto stream = engine->Submit(Greedy(TestPrompt(40), 200));
  ASSERT_TRUE(stream->Next().has_value());
  const Snapshot snapshot = engine->TakeSnapshot(/*blocks=*/true);
  ASSERT_EQ(snapshot.requests.size(), 1U);
  EXPECT_EQ(snapshot.requests[0].state, "running");
  ASSERT_EQ(snapshot.requests[0].block_tables.size(), 1U);
  EXPECT_GE(snapshot.requests[0].block_tables[0].size(), 3U);
  EXPECT_GE(snapshot.blocks.size(), 3U);
  EXPECT_TRUE(snapshot.blocks[0].hashed);
  EXPECT_EQ(snapshot.blocks[0].hash.size(), 64U);
}

}  // namespace
}  // namespace folio
