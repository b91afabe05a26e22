// What is not the forward pass: scheduling, blocks, drawing and the trace beside a full batch of
// decodes; and the hashing and matching of a long prompt.
#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "folio/bench_serving_scenarios.h"
#include "folio/bench_tokens.h"
#include "folio/median.h"
#include "kvcache/kv_cache_manager.h"
#include "kvcache/kv_sizing.h"
#include "trace/trace.h"

namespace folio {
namespace {

constexpr std::int64_t kRequests = 64;
constexpr std::int64_t kPrompt = 64;
constexpr std::uint64_t kSteps = 40;
constexpr std::int64_t kGenerated = 200;  // more than those steps and what ends them
constexpr std::int64_t kLongPrompt = 100'000;
constexpr int kRepeats = 7;
constexpr std::size_t kTracedEvents = 65'536;  // a ring that doesn't fit the first caches

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct StepCosts {
  std::uint64_t steps = 0;
  double forward_s = 0;
  double schedule_s = 0;
  double draw_s = 0;
  double events = 0;  // of a step, those in which prompts were computed included
};

// Waits until every stream has had a token; none is read to its end.
Status AwaitFirstTokens(std::vector<Stream>& streams) {
  for (Stream& stream : streams) {
    if (!stream.Next()) return RuntimeError("bench", "costs", "a request ended without a token");
  }
  return {};
}

// Steps in which `count` requests decode and nothing else happens.
Result<StepCosts> MeasureSteps(Engine& engine, std::int64_t count) {
  const std::int64_t vocab = engine.model().config().vocab;
  std::vector<Stream> streams;
  for (std::int64_t i = 0; i < count; ++i) {
    Result<Stream> stream = engine.Submit(SampledRequest(
        BenchTokens(kPrompt, vocab, static_cast<std::uint64_t>(100 + i)), kGenerated));
    if (!stream) return std::unexpected(stream.error());
    streams.push_back(*std::move(stream));
  }
  if (Status begun = AwaitFirstTokens(streams); !begun) return std::unexpected(begun.error());
  const Snapshot before = engine.TakeSnapshot();
  Snapshot after = before;
  while (after.steps < before.steps + kSteps) {
    if (!streams[0].Wait(std::chrono::milliseconds(10))) continue;
    if (!streams[0].Next()) return RuntimeError("bench", "costs", "a request ended too early");
    after = engine.TakeSnapshot();
  }
  return StepCosts{.steps = after.steps - before.steps,
                   .forward_s = after.forward_seconds - before.forward_seconds,
                   .schedule_s = after.schedule_seconds - before.schedule_seconds,
                   .draw_s = after.draw_seconds - before.draw_seconds};
}

// The same with the events that all its steps emit. Between two snapshots without requests nothing
// writes to the trace, so that it may be read.
Result<StepCosts> MeasureStepsAndEvents(Engine& engine, std::int64_t count) {
  const std::uint64_t steps_before = engine.TakeSnapshot().steps;
  const std::uint64_t events_before = engine.model().trace().emitted();
  Result<StepCosts> costs = MeasureSteps(engine, count);
  if (!costs) return costs;
  const Snapshot after = engine.TakeSnapshot();
  costs->events = static_cast<double>(engine.model().trace().emitted() - events_before) /
                  static_cast<double>(after.steps - steps_before);
  return costs;
}

// Seconds to keep one event in a ring.
double MeasureEvent() {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    Trace trace(kTracedEvents);
    const auto start = Clock::now();
    for (std::size_t event = 0; event < 8 * kTracedEvents; ++event) {
      trace.Emit({.request = event, .a = 1, .b = 1, .type = EventType::kChunk});
    }
    seconds.push_back(SecondsSince(start) / static_cast<double>(trace.emitted()));
  }
  return Median(seconds);
}

struct LongPromptCosts {
  double hash_s = 0;
  double match_s = 0;
};

// On a pool of its own, in which the whole prompt is cached.
LongPromptCosts MeasureLongPrompt(const LoadedModel& model) {
  const int block_size = model.options().block_size;
  const auto hasher = std::make_shared<BlockHasher>();
  const std::vector<std::int32_t> tokens = BenchTokens(kLongPrompt, model.config().vocab);
  const std::vector<KvGroupSpec> groups = GroupSpecs(model.kv_layout());
  const std::int64_t blocks =
      BlocksForTokens(kLongPrompt, block_size) * static_cast<std::int64_t>(groups.size());
  KvCacheManager cache(groups, block_size, blocks, /*caching=*/true, /*trace=*/nullptr);
  std::vector<double> hash_s;
  std::vector<double> match_s;
  for (int i = 0; i < kRepeats; ++i) {
    auto start = Clock::now();
    TokenChain chain(hasher, BlockHash{}, block_size, /*row_kinds_differ=*/false);
    chain.Append(tokens, RowKind::kPrompt);
    hash_s.push_back(SecondsSince(start));
    SequenceBlocks sequence = cache.NewSequence(1);
    start = Clock::now();
    const std::int64_t found = cache.TakeHits(sequence, chain);
    if (found > 0) match_s.push_back(SecondsSince(start));
    BlockChanges changes;
    if (cache.Allocate(sequence, chain.size() - sequence.computed, changes)) {
      cache.Advance(sequence, chain, chain.size());
    }
    cache.Free(sequence);
  }
  return {.hash_s = Median(hash_s), .match_s = Median(match_s)};
}

}  // namespace

Result<ScenarioReport> RunCosts(const EngineArgs& args, const ServingArgs& serving) {
  const std::int64_t count = serving.requests > 0 ? serving.requests : kRequests;
  EngineOptions options = EngineOptionsOf(args);
  options.max_requests = std::max(options.max_requests, count);
  if (options.context == 0) options.context = kPrompt + kGenerated;
  options.contexts = count;
  options.max_draft_tokens = 0;  // a step has a row of each
  const auto engine = OpenWarmEngine(args, options);
  if (!engine) return std::unexpected(engine.error());
  // The first time the system hands out the blocks' memory, once in an engine's life.
  if (auto committed = MeasureSteps(**engine, count); !committed) {
    return std::unexpected(committed.error());
  }
  (*engine)->ResetCache();
  const Result<StepCosts> costs = MeasureStepsAndEvents(**engine, count);
  if (!costs) return std::unexpected(costs.error());
  const double event_s = MeasureEvent();
  const LongPromptCosts prompt = MeasureLongPrompt((*engine)->model());

  const auto steps = static_cast<double>(costs->steps);
  ScenarioReport report;
  report.json = {{"requests", count},
                 {"steps", costs->steps},
                 {"forward_s", costs->forward_s / steps},
                 {"schedule_s", costs->schedule_s / steps},
                 {"draw_s", costs->draw_s / steps},
                 {"schedule_share", costs->schedule_s / costs->forward_s},
                 {"draw_share", costs->draw_s / costs->forward_s},
                 {"trace_events", costs->events},
                 {"trace_event_s", event_s},
                 {"trace_share", costs->events * event_s * steps / costs->forward_s},
                 {"long_prompt_tokens", kLongPrompt},
                 {"long_prompt_hash_s", prompt.hash_s},
                 {"long_prompt_match_s", prompt.match_s}};
  report.text =
      Format(
          "  a step of %lld decodes: forward pass %.2f ms, scheduler and blocks %.3f ms "
          "(%.2f %%), drawing %.3f ms (%.2f %%)\n",
          static_cast<long long>(count), 1e3 * costs->forward_s / steps,
          1e3 * costs->schedule_s / steps, 1e2 * costs->schedule_s / costs->forward_s,
          1e3 * costs->draw_s / steps, 1e2 * costs->draw_s / costs->forward_s) +
      Format("  a trace that is kept: %.0f events of a step at %.1f ns each (%.4f %%)\n",
             costs->events, 1e9 * event_s,
             1e2 * costs->events * event_s * steps / costs->forward_s) +
      Format("  a prompt of %lld tokens: hashing %.2f ms, matching %.2f ms\n",
             static_cast<long long>(kLongPrompt), 1e3 * prompt.hash_s, 1e3 * prompt.match_s);
  return report;
}

}  // namespace folio
