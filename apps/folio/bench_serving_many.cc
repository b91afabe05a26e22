// More requests than the pool of KV blocks holds.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "folio/bench_serving_scenarios.h"
#include "folio/bench_tokens.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr std::int64_t kRequests = 64;
constexpr std::int64_t kContext = 4096;  // the pool holds one of it
constexpr std::int64_t kShortest = 16;
constexpr std::int64_t kLongest = 384;  // of prompts
constexpr std::int64_t kFewest = 32;
constexpr std::int64_t kMost = 128;  // generated

std::int64_t Between(std::int64_t low, std::int64_t high, std::int64_t index) {
  const double u = UniformAt(/*seed=*/7, /*choice=*/0, index);
  return low + static_cast<std::int64_t>(u * static_cast<double>(high - low + 1));
}

std::vector<Request> MakeRequests(std::int64_t count, std::int64_t vocab) {
  std::vector<Request> requests;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t prompt = Between(kShortest, kLongest, 2 * i);
    requests.push_back(SampledRequest(BenchTokens(prompt, vocab, static_cast<std::uint64_t>(i)),
                                      Between(kFewest, kMost, 2 * i + 1)));
  }
  return requests;
}

// Tokens that all requests have in the end.
std::int64_t Demand(const std::vector<Request>& requests) {
  std::int64_t tokens = 0;
  for (const Request& request : requests) {
    tokens += static_cast<std::int64_t>(request.prompt.size()) + request.max_tokens;
  }
  return tokens;
}

// A context so small that a pool of one context is too small for all requests, and the bytes that
// this pool and the rest take.
Result<EngineOptions> TightOptions(const EngineArgs& args, std::int64_t count,
                                   std::int64_t most_context) {
  EngineOptions options = EngineOptionsOf(args);
  options.max_requests = count;
  if (options.context == 0) {
    const std::int64_t third = Demand(MakeRequests(count, /*vocab=*/1)) / 3;
    options.context = std::min(std::clamp(third, kLongest + kMost, kContext), most_context);
  }
  if (options.memory != 0) return options;
  options.contexts = 1;
  const auto engine = OpenEngine(args.model, options);
  if (!engine) return std::unexpected(engine.error());
  options.memory = (*engine)->TakeSnapshot().memory.total_bytes;
  options.contexts = 0;
  return options;
}

// The largest resident set of this process so far; 0 if the system does not say.
std::uint64_t PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  }
  return 0;
}

OutputJson AsJson(const MemoryReport& memory) {
  return {{"budget_bytes", memory.budget_bytes},     {"weights_bytes", memory.weights_bytes},
          {"experts_bytes", memory.experts_bytes},   {"kv_bytes", memory.kv_bytes},
          {"kv_index_bytes", memory.kv_index_bytes}, {"workspace_bytes", memory.workspace_bytes},
          {"program_bytes", memory.program_bytes},   {"total_bytes", memory.total_bytes}};
}

}  // namespace

Result<ScenarioReport> RunMany(const EngineArgs& args, const ServingArgs& serving) {
  const std::int64_t count = serving.requests > 0 ? serving.requests : kRequests;
  const Result<std::int64_t> context = MostContext(args);
  if (!context) return std::unexpected(context.error());
  const Result<EngineOptions> options = TightOptions(args, count, *context);
  if (!options) return std::unexpected(options.error());
  const auto engine = OpenWarmEngine(args, *options);
  if (!engine) return std::unexpected(engine.error());
  const Snapshot before = (*engine)->TakeSnapshot();
  const auto served =
      ServeTogether(**engine, MakeRequests(count, (*engine)->model().config().vocab));
  if (!served) return std::unexpected(served.error());
  const Snapshot after = (*engine)->TakeSnapshot(/*blocks=*/true);

  std::int64_t prompt = 0;
  std::int64_t generated = 0;
  double seconds = 0;
  for (const Served& one : *served) {
    prompt += one.outcome.usage.prompt_tokens;
    generated += one.outcome.usage.generated_tokens;
    seconds = std::max(seconds, one.done_s);
  }
  const std::uint64_t plan = after.memory.total_bytes;
  const std::uint64_t allowed = plan + std::max<std::uint64_t>(plan / 50, std::uint64_t{64} << 20);
  const std::uint64_t peak = PeakResidentBytes();
  const std::uint64_t preemptions = after.preemptions - before.preemptions;
  ScenarioReport report;
  report.json = {{"requests", count},
                 {"blocks_total", after.blocks_total},
                 {"block_bytes", after.block_bytes},
                 {"preemptions", preemptions},
                 {"evictions", after.evictions - before.evictions},
                 {"prompt_tokens", prompt},
                 {"generated_tokens", generated},
                 {"computed_tokens", after.computed_tokens - before.computed_tokens},
                 {"total_s", seconds},
                 {"generated_per_s", static_cast<double>(generated) / seconds},
                 {"memory", AsJson(after.memory)},
                 {"peak_resident_bytes", peak},
                 {"peak_at_most", allowed},
                 {"blocks_left", after.blocks_used},
                 {"integrity", after.integrity}};
  report.text = Format(
                    "  %lld requests, %lld prompt and %lld generated tokens, on %lld blocks of %d: "
                    "%llu preemptions\n",
                    static_cast<long long>(count), static_cast<long long>(prompt),
                    static_cast<long long>(generated), static_cast<long long>(after.blocks_total),
                    after.block_size, static_cast<unsigned long long>(preemptions)) +
                Format("  %.1f generated tokens a second, all after %.1f s\n",
                       static_cast<double>(generated) / seconds, seconds) +
                "  planned " + HumanBytes(plan) + ", peak resident " + HumanBytes(peak) +
                " (at most " + HumanBytes(allowed) + ")\n";
  if (peak > allowed) {
    report.broken = "peak resident size " + std::to_string(peak) + " bytes, at most " +
                    std::to_string(allowed) + " were planned";
  } else if (after.blocks_used != 0) {
    report.broken = std::to_string(after.blocks_used) + " blocks are still held";
  } else {
    report.broken = after.integrity;
  }
  return report;
}

}  // namespace folio
