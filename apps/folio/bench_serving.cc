#include "folio/bench_serving.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "cpu/machine.h"
#include "engine/numerics_name.h"
#include "folio/bench_serving_scenarios.h"
#include "folio/bench_tokens.h"
#include "folio/options.h"
#include "formats/open_model.h"
#include "model/config.h"
#include "store/model_store.h"

namespace folio {
namespace {

constexpr std::int64_t kWarmUpTokens = 32;

struct Scenario {
  const char* name;
  Result<ScenarioReport> (*run)(const EngineArgs& engine, const ServingArgs& args);
};

// `many` is first: the peak of memory is the process's.
constexpr std::array<Scenario, 5> kScenarios = {{
    {.name = "many", .run = RunMany},
    {.name = "shared", .run = RunShared},
    {.name = "agent", .run = RunAgent},
    {.name = "drafts", .run = RunDrafts},
    {.name = "costs", .run = RunCosts},
}};

// Notes when the first token came, and the end.
void Read(Stream& stream, std::chrono::steady_clock::time_point start, Served& served) {
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (const std::optional<Delta> delta = stream.Next()) {
    if (served.first_token_s == 0 && !delta->samples.empty()) served.first_token_s = seconds();
  }
  served.done_s = seconds();
  served.outcome = stream.outcome();
}

OutputJson Head(const EngineArgs& args) {
  return {{"machine", {{"cpu", CpuName()}, {"cores", NumCores()}}},
          {"model", args.model},
          {"threads", args.threads == 0 ? NumCores() : args.threads},
          {"kv_type", args.kv_type},
          {"block_size", args.block_size},
          {"max_batch_tokens", args.max_batch_tokens}};
}

}  // namespace

Result<std::vector<Served>> ServeTogether(Engine& engine, std::vector<Request> requests) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Served> served(requests.size());
  std::vector<Stream> streams;
  streams.reserve(requests.size());
  std::vector<std::jthread> readers;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Result<Stream> stream = engine.Submit(std::move(requests[i]));
    if (!stream) {
      for (Stream& running : streams) running.Cancel();
      return std::unexpected(stream.error());
    }
    streams.push_back(*std::move(stream));
    readers.emplace_back([&streams, &served, start, i] { Read(streams[i], start, served[i]); });
  }
  readers.clear();  // waits for them
  for (const Served& one : served) {
    for (const Reply& reply : one.outcome.choices) {
      if (reply.finish_reason == FinishReason::kError) return std::unexpected(reply.error);
    }
  }
  return served;
}

Result<std::unique_ptr<Engine>> OpenWarmEngine(const EngineArgs& args, EngineOptions options) {
  Result<std::unique_ptr<Engine>> engine = OpenEngine(args.model, std::move(options));
  if (!engine) return engine;
  const std::int64_t vocab = (*engine)->model().config().vocab;
  std::vector<Request> warm_up;
  warm_up.push_back(GreedyRequest(BenchTokens(16, vocab, /*seed=*/0), kWarmUpTokens));
  const auto done = ServeTogether(**engine, std::move(warm_up));
  if (!done) return std::unexpected(done.error());
  (*engine)->ResetCache();
  return engine;
}

Result<std::int64_t> MostContext(const EngineArgs& args) {
  if (args.context != 0) return args.context;
  const Result<ModelFile> file = OpenModelFile(args.model);
  if (!file) return std::unexpected(file.error());
  const Result<ModelConfig> config = ReadModelConfig(*file);
  if (!config) return std::unexpected(config.error());
  return config->context_length;
}

Request GreedyRequest(std::vector<std::int32_t> prompt, std::int64_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.ignore_end_tokens = true;
  return request;
}

Request SampledRequest(std::vector<std::int32_t> prompt, std::int64_t max_tokens) {
  Request request = GreedyRequest(std::move(prompt), max_tokens);
  request.sampling = {.temperature = 0.8F, .top_k = 40, .top_p = 0.95F, .min_p = 0.05F, .seed = 1};
  return request;
}

std::int64_t PrefilledTokens(const Usage& usage) {
  return usage.computed_tokens - std::max<std::int64_t>(0, usage.generated_tokens - 1) -
         (usage.drafted_tokens - usage.accepted_tokens);
}

std::string Format(const char* format, ...) {
  std::array<char, 256> text{};
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  return text.data();
}

void AddServingArgs(const Command& command, ServingArgs& args) {
  constexpr std::int64_t kMost = 1 << 20;
  const Command group = command.Group("Serving");
  group.AddFlag("--serving", args.serving,
                "many requests on one engine instead: shared prefixes, turns of agents, "
                "memory, costs");
  std::string names;
  for (const Scenario& scenario : kScenarios) {
    names += (names.empty() ? "" : ", ") + std::string(scenario.name);
  }
  group.AddText("--scenario", args.scenario, "only this one: " + names);
  group.AddWhole("--requests", args.requests, 1, 4096,
                 "that arrive together (default: 16 shared, 64 many and costs)");
  group.AddWhole("--prefix", args.prefix, 16, kMost,
                 "tokens that requests share (default: 2000 shared, 28000 agent, at most the "
                 "context)");
  group.AddWhole("--turns", args.turns, 1, 1000, "of each conversation of agent (default: 10)");
}

Status RunServingBench(const EngineArgs& given, const ServingArgs& args, bool json) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const Result<std::string> path = store->Resolve(given.model);
  if (!path) return std::unexpected(path.error());
  EngineArgs engine = given;
  engine.model = *path;
  OutputJson document = Head(engine);
  std::string text;
  std::string broken;
  bool any = false;
  for (const Scenario& scenario : kScenarios) {
    if (!args.scenario.empty() && args.scenario != scenario.name) continue;
    any = true;
    Result<ScenarioReport> report = scenario.run(engine, args);
    if (!report) return std::unexpected(report.error());
    report->json["holds"] = report->broken.empty();
    document[scenario.name] = std::move(report->json);
    text += scenario.name + std::string("\n") + report->text;
    if (broken.empty() && !report->broken.empty()) {
      broken = scenario.name + std::string(": ") + report->broken;
    }
  }
  if (!any) return UsageError("bench", "--scenario", "'" + args.scenario + "' is no scenario");
  const std::string head = CpuName() + ", threads " +
                           std::to_string(document["threads"].get<int>()) + "\n" + engine.model +
                           "\n";
  if (Status written = json ? WriteJson(document) : WriteOutput(head + text); !written) {
    return written;
  }
  if (!broken.empty()) return RuntimeError("bench", "--serving", broken);
  return {};
}

}  // namespace folio
