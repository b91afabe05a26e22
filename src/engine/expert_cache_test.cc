// Models whose experts don't all fit into memory: the same logits, and one clear line where an
// expert can't be read.
#include "model/expert_cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_testing.h"

namespace folio {
namespace {

using testing::HasSubstr;

constexpr int kExperts = 12;
constexpr int kLayers = 3;
constexpr int kTopK = 3;

TinyModelSpec Spec(const std::string& architecture, GgmlType type) {
  return {.architecture = architecture,
          .type = type,
          .layers = kLayers,
          .experts = kExperts,
          .top_k = kTopK};
}

std::vector<float> LogitsInChunks(LoadedModel& model, std::span<const TokenId> tokens,
                                  std::size_t chunk) {
  Session session(model);
  std::vector<float> all;
  for (std::size_t at = 0; at < tokens.size(); at += chunk) {
    std::vector<float> some;
    const Status done =
        session.Append(tokens.subspan(at, std::min(chunk, tokens.size() - at)), &some);
    EXPECT_TRUE(done.has_value()) << done.error().Message();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

using Model = std::pair<const char*, GgmlType>;
class ExpertCacheBitsTest : public testing::TestWithParam<Model> {};

TEST_P(ExpertCacheBitsTest, LogitsAreThoseOfTheModelThatIsWhollyInMemory) {
  const TinyModelFile file(Spec(GetParam().first, GetParam().second));
  ASSERT_TRUE(file.written());
  const std::vector<TokenId> tokens = TestPrompt(45);
  const auto whole = LoadOrFail(file.path(), {.threads = 2});
  ASSERT_NE(whole, nullptr);
  ASSERT_EQ(whole->weights().expert_cache, nullptr);
  const std::vector<float> expected = LogitsInChunks(*whole, tokens, tokens.size());
  for (const int threads : {1, 2}) {
    // One slot: waves of one. As many as a token needs; half of them; one fewer than all.
    for (const std::int64_t slots : {1, kTopK, kLayers * kExperts / 2, kLayers * kExperts - 1}) {
      for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, tokens.size()}) {
        const auto cached = LoadOrFail(file.path(), {.threads = threads, .expert_slots = slots});
        ASSERT_NE(cached, nullptr);
        EXPECT_EQ(LogitsInChunks(*cached, tokens, chunk), expected)
            << threads << " threads, " << slots << " slots, chunks of " << chunk;
        const ExpertCacheStats stats = cached->weights().expert_cache->stats();
        EXPECT_EQ(stats.slots, slots);
        EXPECT_LE(stats.resident, slots);
        EXPECT_GE(stats.misses, static_cast<std::uint64_t>(stats.resident));
        if (slots < kExperts && chunk == 1) {
          EXPECT_GT(stats.misses, static_cast<std::uint64_t>(kLayers * kExperts));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, ExpertCacheBitsTest,
    testing::Values(Model{"qwen3moe", GgmlType::kF32}, Model{"qwen3moe", GgmlType::kQ4_0},
                    Model{"qwen2moe", GgmlType::kQ8_0}, Model{"olmoe", GgmlType::kF32},
                    Model{"llama", GgmlType::kQ8_0}),
    [](const auto& param) {
      return std::string(param.param.first) + "_" + std::string(TypeInfo(param.param.second).name);
    });

// Requests that run together, longer than a step, some of them with the same beginning.
TEST(ExpertCacheTest, RepliesOfABatchAreThoseOfEachAloneInMemory) {
  const TinyModelFile file(Spec("qwen3moe", GgmlType::kQ8_0));
  const auto whole = LoadOrFail(file.path(), {.threads = 1});
  const auto cached = LoadOrFail(file.path(), {.threads = 2,
                                               .max_batch_tokens = 24,
                                               .max_logit_rows = 8,
                                               .pool = PoolSize::kGiven,
                                               .num_blocks = 64,
                                               .expert_slots = 5});
  ASSERT_TRUE(whole != nullptr && cached != nullptr);
  LogitsRecord record;
  const auto loop = EngineLoop::Create(
      *cached, {.max_requests = 4,
                .max_draft_tokens = 4,
                .on_logits = [&](std::uint64_t request, int choice, std::span<float> logits) {
                  record.Take(request, choice, logits);
                }});
  ASSERT_TRUE(loop.has_value());
  std::vector<std::shared_ptr<CollectingSink>> sinks;
  std::vector<std::vector<TokenId>> prompts;
  for (const int length : {40, 40, 9, 61}) {
    prompts.push_back(TestPrompt(length, length == 9 ? 3 : 0));
    sinks.push_back(std::make_shared<CollectingSink>());
    (*loop)->Submit(prompts.size(),
                    {.prompt = prompts.back(),
                     .sampling = {.temperature = 0.0F},
                     .max_tokens = 12,
                     .ignore_end_tokens = true},
                    sinks.back());
  }
  while ((*loop)->Step()) {
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    ASSERT_TRUE(sinks[i]->outcome.has_value());
    EXPECT_EQ(DifferenceFromAlone(*whole, prompts[i], sinks[i]->outcome->choices[0].samples,
                                  record.Of(i + 1, 0)),
              "");
  }
  const ExpertCacheSnapshot stats = (*loop)->TakeSnapshot(false).expert_cache;
  EXPECT_EQ(stats.experts, kExperts * kLayers);
  EXPECT_EQ(stats.slots, 5);
  EXPECT_GT(stats.misses, 0U);
  EXPECT_GT(stats.bytes_read, 0U);
}

TEST(ExpertCacheTest, HitsAndMissesAddUpToTheExpertsThatWereNeeded) {
  const TinyModelFile file(Spec("qwen3moe", GgmlType::kF32));
  const auto model = LoadOrFail(file.path(), {.threads = 1, .expert_slots = kExperts * kLayers});
  ASSERT_NE(model, nullptr);
  const std::vector<TokenId> tokens = TestPrompt(1);
  Session first(*model);
  ASSERT_TRUE(first.Append(tokens).has_value());
  ExpertCacheStats stats = model->weights().expert_cache->stats();
  EXPECT_EQ(stats.hits, 0U);
  EXPECT_EQ(stats.misses, static_cast<std::uint64_t>(kLayers * kTopK));
  EXPECT_EQ(stats.resident, kLayers * kTopK);
  EXPECT_EQ(stats.bytes_read, std::uint64_t{kLayers} * kTopK * 3 * 64 * 64 * sizeof(float));
  // The same token again: all are there, and nothing is read.
  Session second(*model);
  ASSERT_TRUE(second.Append(tokens).has_value());
  const ExpertCacheStats again = model->weights().expert_cache->stats();
  EXPECT_EQ(again.hits, static_cast<std::uint64_t>(kLayers * kTopK));
  EXPECT_EQ(again.misses, stats.misses);
  EXPECT_EQ(again.bytes_read, stats.bytes_read);
}

TEST(ExpertCacheTest, AFileCutShortEndsTheRequestsThatNeedItAndNothingElse) {
  const TinyModelFile file(Spec("qwen3moe", GgmlType::kF32));
  const auto model = LoadOrFail(file.path(), {.threads = 2,
                                              .max_logit_rows = 8,
                                              .pool = PoolSize::kGiven,
                                              .num_blocks = 64,
                                              .expert_slots = kExperts * kLayers});
  ASSERT_NE(model, nullptr);
  const auto loop = EngineLoop::Create(*model, {.max_requests = 4});
  ASSERT_TRUE(loop.has_value());
  model->weights().packing.Finish(model->pool(), {});  // what is mapped is no longer needed
  const auto run = [&](std::uint64_t id, const std::vector<std::vector<TokenId>>& prompts) {
    std::vector<std::shared_ptr<CollectingSink>> sinks;
    for (const std::vector<TokenId>& prompt : prompts) {
      sinks.push_back(std::make_shared<CollectingSink>());
      (*loop)->Submit(id++,
                      {.prompt = prompt,
                       .sampling = {.temperature = 0.0F},
                       .max_tokens = 1,
                       .ignore_end_tokens = true},
                      sinks.back());
    }
    while ((*loop)->Step()) {
    }
    return sinks;
  };
  // One token's experts are in memory, then the file loses all others.
  const std::vector<TokenId> known = {7};
  ASSERT_EQ(run(1, {known})[0]->outcome->choices[0].finish_reason, FinishReason::kLength);
  const auto size = std::filesystem::file_size(file.path());
  const ModelTensor* first = model->file().FindTensor("blk.0.ffn_gate_exps.weight");
  ASSERT_NE(first, nullptr);
  const std::filesystem::path copy = file.path() + ".whole";
  std::filesystem::copy_file(file.path(), copy);
  std::filesystem::resize_file(file.path(), first->offset);
  const auto cut = run(2, {TestPrompt(20), known});
  EXPECT_EQ(cut[0]->outcome->choices[0].finish_reason, FinishReason::kError);
  EXPECT_THAT(cut[0]->outcome->choices[0].error.Message(),
              testing::AllOf(HasSubstr(file.path()), HasSubstr("exps.weight"),
                             HasSubstr("the file became shorter while it was in use")));
  EXPECT_EQ(cut[1]->outcome->choices[0].finish_reason, FinishReason::kLength);
  EXPECT_EQ((*loop)->CheckIntegrity(), "");
  {
    Session session(*model);
    const Status alone = session.Append(TestPrompt(20));
    ASSERT_FALSE(alone.has_value());
    EXPECT_THAT(alone.error().Message(), HasSubstr("the file became shorter"));
  }
  // The bytes are back: so is the engine, and no block of the failed request is hit.
  std::filesystem::resize_file(file.path(), size);
  {
    std::ifstream from(copy, std::ios::binary);
    std::fstream to(file.path(), std::ios::binary | std::ios::in | std::ios::out);
    to << from.rdbuf();
  }
  const auto whole = run(4, {TestPrompt(20)});
  EXPECT_EQ(whole[0]->outcome->choices[0].finish_reason, FinishReason::kLength);
  EXPECT_EQ(whole[0]->outcome->usage.cached_tokens, 0);
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace folio
