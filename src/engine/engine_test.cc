// The public engine: many threads in front, one loop inside.
#include "folio/engine.h"

#include <chrono>
#include <limits>
#include <memory>
#include <semaphore>
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
    const auto engine = Open({.block_size = 16, .contexts = contexts});
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

TEST_F(EngineTest, AReaderThatLagsGetsOnePieceAChoiceWithAllInIt) {
  const auto engine = Open();
  Request request = Greedy(TestPrompt(30), 20);
  request.choices = 2;
  request.sampling = {.temperature = 1.0F, .seed = 1};
  auto stream = engine->Submit(request);
  ASSERT_TRUE(stream.has_value());
  engine->Drain();
  std::vector<Delta> deltas;
  while (auto delta = stream->Next()) deltas.push_back(*std::move(delta));
  ASSERT_EQ(deltas.size(), 2U);
  for (const Delta& delta : deltas) {
    const Reply& reply = stream->outcome().choices[static_cast<std::size_t>(delta.choice)];
    EXPECT_EQ(delta.text, reply.text);
    EXPECT_EQ(delta.samples.size(), 20U);
    EXPECT_EQ(delta.finished, FinishReason::kLength);
  }
}

TEST_F(EngineTest, AReaderThatIsCalledNeedNotWait) {
  const auto engine = Open();
  auto stream = engine->Submit(Greedy(TestPrompt(30), 20));
  ASSERT_TRUE(stream.has_value());
  std::counting_semaphore<> calls(0);
  stream->OnReady([&calls] { calls.release(); });
  std::size_t samples = 0;
  for (bool ended = false; !ended;) {
    ASSERT_TRUE(calls.try_acquire_for(std::chrono::seconds(60)));
    const auto delta = stream->TryNext(ended);
    if (delta) samples += delta->samples.size();
  }
  EXPECT_EQ(samples, 20U);
  EXPECT_EQ(stream->outcome().usage.generated_tokens, 20);
}

TEST_F(EngineTest, WhatTheCacheHasIsToldAtArrival) {
  const auto engine = Open();
  Request request = Greedy(TestPrompt(50), 2);
  request.tell_arrival = true;
  constexpr std::chrono::seconds kLong(60);
  auto first = engine->Submit(request);
  ASSERT_TRUE(first.has_value());
  const auto unknown = first->Arrival(kLong);
  ASSERT_TRUE(unknown.has_value());
  EXPECT_EQ(unknown->cause, MissCause::kFirstSeen);
  ASSERT_TRUE(first->Finish().has_value());
  request.prompt.back() += 1;
  auto second = engine->Submit(request);
  ASSERT_TRUE(second.has_value());
  const auto known = second->Arrival(kLong);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->cached_tokens, 48);
  EXPECT_EQ(known->matched_tokens, 49);
  EXPECT_EQ(known->cause, MissCause::kDiffers);
  const auto finished = second->Finish();
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->cache, *known);
  request.tell_arrival = false;
  EXPECT_FALSE(engine->Submit(request)->Arrival(std::chrono::milliseconds(1)).has_value());
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
  // On a busy machine the loop may be done before this thread drops the stream.
  bool cancelled = false;
  for (std::uint64_t i = 0; i < 20 && !cancelled; ++i) {
    const std::uint64_t before = engine->TakeSnapshot().generated_tokens;
    {
      const auto stream = engine->Submit(Greedy(TestPrompt(10), 200));
    }
    while (!engine->TakeSnapshot().requests.empty()) std::this_thread::yield();
    cancelled = engine->TakeSnapshot().generated_tokens - before < 200;
  }
  EXPECT_TRUE(cancelled);
  engine->Drain();
  const Snapshot snapshot = engine->TakeSnapshot(true);
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

TEST_F(EngineTest, PromptsThatWaitHaveABoundInBytes) {
  const auto engine = Open({.max_requests = 1, .max_prompts_bytes = 2500});
  for (int round = 0; round < 3; ++round) {
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
    EXPECT_THAT(refusal, HasSubstr("prompts"));
    EXPECT_EQ(streams.size(), 2U);
    streams.clear();
    while (!engine->TakeSnapshot().requests.empty()) {
    }
  }
  EXPECT_TRUE(engine->Submit(Greedy(TestPrompt(250), 1)));  // alone it may be longer
}

TEST_F(EngineTest, APlanIsWhatAnEngineHas) {
  EngineOptions options{.model = file_.path(), .threads = 1, .memory = std::uint64_t{256} << 20};
  const auto plan = Engine::Plan(options);
  ASSERT_TRUE(plan);
  const auto engine = Engine::Open(options);
  ASSERT_TRUE(engine);
  const MemoryReport memory = (*engine)->TakeSnapshot().memory;
  EXPECT_EQ(plan->memory.total_bytes, memory.total_bytes);
  EXPECT_EQ(plan->memory.kv_bytes, memory.kv_bytes);
  EXPECT_EQ(plan->context, (*engine)->TakeSnapshot().context);
  options.memory = 1 << 20;
  EXPECT_FALSE(Engine::Plan(options));
}

TEST_F(EngineTest, PlacesInTheQueueComeBack) {
  const auto engine = Open({.max_requests = 1, .max_queue = 2});
  for (int round = 0; round < 5; ++round) {
    std::vector<Stream> streams;
    int refused = 0;
    while (refused < 5) {
      auto stream = engine->Submit(Greedy(TestPrompt(100, round), 150));
      if (stream) {
        streams.push_back(*std::move(stream));
      } else {
        ++refused;
      }
    }
    EXPECT_GE(streams.size(), 2U);
    streams.clear();
    while (!engine->TakeSnapshot().requests.empty()) {
    }
  }
}

TEST_F(EngineTest, DrainingRefusesAndFinishes) {
  const auto engine = Open();
  auto stream = engine->Submit(Greedy(TestPrompt(10), 30));
  engine->Drain();
  EXPECT_FALSE(engine->Submit(Greedy(TestPrompt(10), 1)).has_value());
  EXPECT_EQ(stream->Finish()->choices[0].samples.size(), 30U);
}

// A request is either refused or waited for, however close the two calls are.
TEST_F(EngineTest, NoRequestSlipsInBehindADrain) {
  for (int i = 0; i < 30; ++i) {
    const auto engine = Open({.max_requests = 8});
    std::vector<Stream> streams;
    std::jthread submitter([&] {
      while (auto stream = engine->Submit(Greedy(TestPrompt(4), 2))) {
        streams.push_back(*std::move(stream));
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(300 * i));
    engine->Drain();
    EXPECT_TRUE(engine->TakeSnapshot().requests.empty());
    submitter.join();
    EXPECT_TRUE(engine->TakeSnapshot().requests.empty());
    for (Stream& stream : streams) {
      EXPECT_TRUE(stream.Wait(std::chrono::milliseconds(0)));
      EXPECT_EQ(stream.Finish()->choices[0].finish_reason, FinishReason::kLength);
    }
  }
}

TEST_F(EngineTest, AFullQueueEndsWithItsEngine) {
  auto engine = Open({.max_requests = 1});
  std::vector<Stream> streams;
  for (int i = 0; i < 200; ++i) {
    auto stream = engine->Submit(Greedy(TestPrompt(100, i), 100));
    ASSERT_TRUE(stream.has_value());
    streams.push_back(*std::move(stream));
  }
  std::jthread reader([&] {  // waits while the engine ends
    while (streams.back().Next()) {
    }
  });
  engine.reset();
  reader.join();
  for (Stream& stream : streams) {
    while (stream.Next()) {
    }
    // The first may have finished before.
    if (stream.outcome().choices[0].finish_reason != FinishReason::kLength) {
      EXPECT_EQ(stream.outcome().choices[0].finish_reason, FinishReason::kCancelled);
    }
    stream.Cancel();
  }
  EXPECT_EQ(streams.back().outcome().choices[0].finish_reason, FinishReason::kCancelled);
}

TEST_F(EngineTest, CancellingFromOtherThreadsEndsTheStreamOnce) {
  const auto engine = Open({.max_requests = 2});
  for (int i = 0; i < 20; ++i) {
    auto stream = engine->Submit(Greedy(TestPrompt(20, i), 200));
    ASSERT_TRUE(stream.has_value());
    std::vector<std::jthread> cancellers;
    for (int t = 0; t < 3; ++t) {
      cancellers.emplace_back([&] {
        for (int n = 0; n < 1000; ++n) stream->Cancel();
      });
    }
    int ends = 0;
    while (const auto delta = stream->Next()) ends += static_cast<int>(delta->finished.has_value());
    EXPECT_EQ(ends, 1);
  }
  engine->Drain();
  EXPECT_EQ(engine->TakeSnapshot().blocks_used, 0);
}

TEST_F(EngineTest, AWaitMayBeAsLongAsTheClockIsAndLonger) {
  const auto engine = Open();
  auto stream = engine->Submit(Greedy(TestPrompt(10), 2));
  ASSERT_TRUE(stream.has_value());
  EXPECT_TRUE(stream->Wait(std::chrono::milliseconds::max()));
  stream->Wait(std::chrono::milliseconds::min());
}

TEST_F(EngineTest, OptionsOutOfAllProportionAreRefusedByName) {
  const auto why = [&](EngineOptions options) {
    options.model = file_.path();
    if (options.memory == 0) options.memory = std::uint64_t{256} << 20;
    const auto engine = Engine::Open(options);
    return engine ? std::string() : engine.error().Message();
  };
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(why({.max_queue = 0}), HasSubstr("--max-queue"));
  EXPECT_THAT(why({.max_queue = -1}), HasSubstr("--max-queue"));
  EXPECT_THAT(why({.max_requests = kMost}), HasSubstr("--max-requests"));
  EXPECT_THAT(why({.max_requests = 1 << 20}), HasSubstr("--memory"));
  EXPECT_THAT(why({.trace_events = std::numeric_limits<std::size_t>::max()}), HasSubstr("trace"));
  EXPECT_THAT(why({.trace_events = 1 << 24}), HasSubstr("--memory"));
  EXPECT_THAT(why({.prompt_log_bytes = std::numeric_limits<std::uint64_t>::max()}),
              HasSubstr("prompt log"));
  EXPECT_THAT(why({.context = kMost}), HasSubstr("--context"));
  EXPECT_THAT(why({.block_size = 1 << 30}), HasSubstr("--memory"));
  EXPECT_THAT(why({.block_size = 0}), HasSubstr("--block-size"));
  EXPECT_THAT(why({.block_size = 24}), HasSubstr("--block-size"));
  EXPECT_THAT(why({.memory = std::uint64_t{1} << 60}), HasSubstr("--memory"));
  EXPECT_THAT(why({.max_batch_tokens = kMost}), HasSubstr("--max-batch-tokens"));
  EXPECT_THAT(why({.threads = -3}), HasSubstr("--threads"));
}

TEST_F(EngineTest, ABlockMayBeLargerThanTheContext) {
  const auto engine = Open({.context = 20, .block_size = 1024, .prompt_log_bytes = 0});
  const auto outcome = engine->Submit(Greedy(TestPrompt(19), 100))->Finish();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->choices[0].samples.size(), 1U);
}

TEST_F(EngineTest, AContextOfOneTokenLeavesRoomForNothing) {
  const auto engine = Open({.context = 1});
  const auto refused = engine->Submit(Greedy(TestPrompt(1), 1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().Message(), HasSubstr("--context"));
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
