#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include "engine/loaded_model.h"
#include "folio/batch_input.h"
#include "folio/batch_output.h"
#include "folio/batch_run.h"
#include "folio/commands.h"
#include "folio/engine.h"
#include "folio/engine_args.h"
#include "folio/interrupt.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/progress_bar.h"
#include "store/model_store.h"

namespace folio {
namespace {

using Clock = std::chrono::steady_clock;

struct BatchArgs {
  EngineArgs engine;
  std::string input;
  std::string output;
  std::int64_t max_queue = 64;
  bool json = false;
};

// Lines that are submitted at a time: what runs, and what waits so that a finished request is
// followed by the next at once. Each has a thread that waits for it.
std::size_t InFlight(const BatchArgs& args) {
  return static_cast<std::size_t>(
      std::min<std::int64_t>(args.engine.max_requests + args.max_queue, 1024));
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string ProgressNote(const BatchTotals& totals, std::int64_t lines, double seconds) {
  std::array<char, 128> text{};
  const double share = totals.prompt_tokens == 0
                           ? 0
                           : 100.0 * static_cast<double>(totals.cached_tokens) /
                                 static_cast<double>(totals.prompt_tokens);
  std::snprintf(text.data(), text.size(), "%lld of %lld, %.0f tokens/s, %.0f %% cached",
                static_cast<long long>(totals.answered) + static_cast<long long>(totals.failed),
                static_cast<long long>(lines),
                static_cast<double>(totals.completion_tokens) / seconds, share);
  return text.data();
}

struct BatchSummary {
  std::string model;
  std::int64_t requests = 0;
  std::int64_t answered_before = 0;
  BatchTotals totals;
  double seconds = 0;
};

Status Print(const BatchSummary& summary, bool json) {
  const BatchTotals& totals = summary.totals;
  if (json) {
    return WriteJson({{"model", summary.model},
                      {"requests", summary.requests},
                      {"answered_before", summary.answered_before},
                      {"answered", totals.answered},
                      {"failed", totals.failed},
                      {"prompt_tokens", totals.prompt_tokens},
                      {"cached_tokens", totals.cached_tokens},
                      {"completion_tokens", totals.completion_tokens},
                      {"seconds", summary.seconds}});
  }
  std::fprintf(
      stderr,
      "folio: batch: %lld requests: %lld answered before, %lld now, %lld failed; %lld "
      "prompt tokens (%lld cached), %lld generated, %.1f s\n",
      static_cast<long long>(summary.requests), static_cast<long long>(summary.answered_before),
      static_cast<long long>(totals.answered), static_cast<long long>(totals.failed),
      static_cast<long long>(totals.prompt_tokens), static_cast<long long>(totals.cached_tokens),
      static_cast<long long>(totals.completion_tokens), summary.seconds);
  return {};
}

// Runs what is left to do, and tells how far it came where it was interrupted.
Status RunLeft(const BatchArgs& args, const std::string& path, BatchInput& input,
               BatchOutput& output, BatchSummary& summary) {
  EngineOptions options = EngineOptionsOf(args.engine);
  options.max_queue = std::numeric_limits<std::int32_t>::max();  // what waits is bounded here
  const auto engine = OpenEngine(path, options);
  if (!engine) return std::unexpected(engine.error());
  if (const Status repaired = output.Repair(); !repaired) return repaired;
  const Tokenizer& tokenizer = (*engine)->model().tokenizer();
  BatchRun run(**engine, input, output, summary.model,
               [&tokenizer](std::int32_t token) { return tokenizer.TokenBytes(token); });
  const Clock::time_point start = Clock::now();
  const InterruptGuard interrupt;
  Status ran;
  {
    ProgressBar bar("batch");
    const std::int64_t left = input.lines() - input.answered();
    ran = run.Run(InFlight(args), [&](const BatchTotals& totals) {
      const auto done = static_cast<double>(totals.answered + totals.failed);
      bar.Update(done / static_cast<double>(left), ProgressNote(totals, left, SecondsSince(start)));
      return !interrupt.interrupted();
    });
  }
  summary.totals = run.totals();
  summary.seconds = SecondsSince(start);
  if (!ran) return ran;
  if (const Status synced = output.Sync(); !synced) return synced;
  if (!interrupt.interrupted()) return {};
  return RuntimeError("batch", "interrupted",
                      std::to_string(input.answered() + summary.totals.answered) + " of " +
                          std::to_string(input.lines()) +
                          " requests are answered; the same command goes on from there");
}

Status RunBatch(const BatchArgs& args) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const Result<std::string> path = store->Resolve(args.engine.model);
  if (!path) return std::unexpected(path.error());
  BatchSummary summary{.model = std::filesystem::path(*path).stem().string(), .totals = {}};
  Result<BatchOutput> output = BatchOutput::Open(args.output, summary.model);
  if (!output) return std::unexpected(output.error());
  Result<BatchInput> input = BatchInput::Open(args.input, *output);
  if (!input) return std::unexpected(input.error());
  summary.requests = input->lines();
  summary.answered_before = input->answered();
  Status ran;
  if (input->answered() < input->lines()) ran = RunLeft(args, *path, *input, *output, summary);
  if (!ran) return ran;
  return Print(summary, args.json);
}

}  // namespace

void AddBatch(const Command& folio) {
  auto args = std::make_shared<BatchArgs>();
  const Command command =
      folio.AddCommand("batch", "answers a file of requests in the OpenAI batch format; resumes");
  command.AddText("IN", args->input, "requests: {custom_id, method, url, body} a line").Required();
  AddModelArg(command, args->engine.model);
  command
      .AddText("--out", args->output,
               "records of what came of them, in the order in which they finish; those of an "
               "earlier run are kept and not done again, unless they failed")
      .Takes("FILE")
      .Required();
  command.Group("Engine").AddWhole(
      "--max-queue", args->max_queue, 1, 1023,
      "requests that wait in memory beside those that run (default: 64)");
  command.AddFlag("--json", args->json, "print the totals as one JSON document");
  AddEngineArgs(command, args->engine);
  command.SetFooter(
      "url is /v1/chat/completions or /v1/completions. A line that can't be run gets a record that "
      "says why, and the rest goes on: the exit code is 0 once every line has its record.");
  command.SetAction([args] { return RunBatch(*args); });
}

}  // namespace folio
