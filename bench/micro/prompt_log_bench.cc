// What explaining a miss costs: a prompt of 100,000 tokens against 1000 recorded ones that share
// beginnings with it and with each other.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kvcache/prompt_log.h"

namespace {

constexpr int kBlockSize = 16;
constexpr std::int64_t kPrompts = 1000;

struct Prompt {
  std::vector<std::int32_t> tokens;
  std::vector<folio::BlockHash> hashes;
  std::vector<folio::PromptPart> parts;
};

// Shares its beginning with all prompts, up to a place that its number gives.
Prompt Make(std::int64_t number, std::int64_t size) {
  Prompt prompt;
  std::mt19937 shared(1);
  std::mt19937 own(static_cast<unsigned>(number) + 2);
  const std::int64_t differs = size * (number % 1000) / 1000;
  std::uint64_t hash = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto token = static_cast<std::int32_t>((i < differs ? shared : own)() % 50'000);
    prompt.tokens.push_back(token);
    hash = (hash ^ static_cast<std::uint64_t>(token)) * 0x9e3779b97f4a7c15U;
    if ((i + 1) % kBlockSize != 0) continue;
    prompt.hashes.emplace_back();
    std::memcpy(prompt.hashes.back().data(), &hash, sizeof(hash));
  }
  for (std::int64_t i = 0; i < 100; ++i) {
    prompt.parts.push_back({"messages[" + std::to_string(i) + "] user", i * size / 100});
  }
  return prompt;
}

void Record(folio::PromptLog& log, std::int64_t number, const Prompt& prompt) {
  log.Record(static_cast<std::uint64_t>(number), {}, prompt.tokens, prompt.hashes, prompt.parts);
}

// The argument is the tokens of a prompt.
void BM_Explain(benchmark::State& state) {
  folio::PromptLog log(std::size_t{1} << 30, kBlockSize);
  for (std::int64_t i = 0; i < kPrompts; ++i) Record(log, i, Make(i, state.range(0)));
  const Prompt prompt = Make(1999, state.range(0));
  for ([[maybe_unused]] auto each : state) {
    benchmark::DoNotOptimize(log.Explain({}, prompt.tokens, prompt.hashes, prompt.parts, 0));
  }
  state.counters["recorded"] = static_cast<double>(log.size());
  state.counters["MB"] = static_cast<double>(log.bytes()) / 1e6;
}
BENCHMARK(BM_Explain)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// In a full log: each prompt makes the oldest one go.
void BM_Record(benchmark::State& state) {
  folio::PromptLog log(std::size_t{1} << 26, kBlockSize);
  std::vector<Prompt> prompts;
  for (std::int64_t i = 0; i < 200; ++i) prompts.push_back(Make(5 * i, state.range(0)));
  std::int64_t next = 0;
  for (; next < 2000; ++next) Record(log, next, prompts[static_cast<std::size_t>(next % 200)]);
  for ([[maybe_unused]] auto each : state) {
    Record(log, next, prompts[static_cast<std::size_t>(next % 200)]);
    ++next;
  }
  state.counters["recorded"] = static_cast<double>(log.size());
  state.counters["MB"] = static_cast<double>(log.bytes()) / 1e6;
}
BENCHMARK(BM_Record)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
