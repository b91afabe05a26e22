#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/machine.h"
#include "engine/numerics_name.h"
#include "engine/session.h"
#include "folio/bench_serving.h"
#include "folio/bench_together.h"
#include "folio/bench_tokens.h"
#include "folio/commands.h"
#include "folio/engine_args.h"
#include "folio/median.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/progress_bar.h"
#include "kernels/machine_limits.h"
#include "model/weight_traffic.h"
#include "sampling/sampler.h"

namespace folio {
namespace {

struct BenchArgs {
  EngineArgs engine;
  std::int64_t prompt = 512;
  std::int64_t depth = 0;
  std::int64_t generate = 128;
  std::int64_t batch = 1;
  std::int64_t repeat = 5;
  bool limits = false;
  ServingArgs serving;
  bool json = false;
};

struct BenchResult {
  std::string test;
  std::int64_t prompt = 0;
  std::int64_t generate = 0;
  std::vector<double> tokens_per_second;  // one a repeat, sorted
  double bytes_per_token = 0;
  double operations_per_token = 0;  // of products
  // Of what the machine reads (decode) or multiplies (prefill) at most; nothing if not measured.
  std::optional<double> share_of_limit;
};

double Seconds(const std::function<Status()>& work, Status& status) {
  const auto start = std::chrono::steady_clock::now();
  status = work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench {
 public:
  Bench(LoadedModel& model, const BenchArgs& args)
      : model_(model),
        args_(args),
        stem_(model),
        tokens_(BenchTokens(args.depth + args.prompt, model.config().vocab)) {}

  Result<std::vector<BenchResult>> Run() {
    std::vector<BenchResult> results;
    if (args_.prompt > 0) {
      results.push_back(
          {.test = "prefill",
           .prompt = args_.prompt,
           .tokens_per_second = {},
           .bytes_per_token = PrefillBytes(),
           .operations_per_token = OperationsOfARow(model_.weights(), model_.config().router),
           .share_of_limit = {}});
    }
    if (args_.generate > 0) {
      results.push_back(
          {.test = "decode",
           .generate = args_.generate,
           .tokens_per_second = {},
           .bytes_per_token = DecodeBytes(),
           .operations_per_token = OperationsOfARow(model_.weights(), model_.config().router) +
                                   OperationsOfLogits(model_.weights()),
           .share_of_limit = {}});
    }
    ProgressBar bar("measuring");
    for (std::int64_t i = -1; i < args_.repeat; ++i) {  // -1 is the warm-up
      for (BenchResult& result : results) {
        const Result<double> speed = result.test == "prefill" ? Prefill() : Decode();
        if (!speed) return std::unexpected(speed.error());
        if (i >= 0) result.tokens_per_second.push_back(*speed);
      }
      bar.Update(static_cast<double>(i + 1) / static_cast<double>(args_.repeat));
    }
    for (BenchResult& result : results) std::ranges::sort(result.tokens_per_second);
    return results;
  }

 private:
  // The session that the tests start from: at the depth, computed once.
  Result<Session> AtDepth() {
    const auto depth = static_cast<std::size_t>(args_.depth);
    if (stem_.tokens().size() < depth) {
      const Status done = stem_.Append(std::span(tokens_).first(depth));
      if (!done) return std::unexpected(done.error());
    }
    return stem_.Fork();
  }

  Result<double> Prefill() {
    Result<Session> session = AtDepth();
    if (!session) return std::unexpected(session.error());
    const auto prompt = std::span(tokens_).subspan(static_cast<std::size_t>(args_.depth));
    Status status;
    const double seconds = Seconds([&] { return session->Append(prompt); }, status);
    if (!status) return std::unexpected(status.error());
    return static_cast<double>(args_.prompt) / seconds;
  }

  Result<double> Decode() {
    if (args_.batch > 1) {
      model_.cache().pool().DropCached();
      return DecodeTogether(
          model_, {.sequences = args_.batch, .depth = args_.depth, .generate = args_.generate});
    }
    Result<Session> session = AtDepth();
    if (!session) return std::unexpected(session.error());
    Sampler sampler({.temperature = 0.0F});
    TokenId token = 0;
    Status status;
    const double seconds = Seconds(
        [&]() -> Status {
          for (std::int64_t i = 0; i < args_.generate; ++i) {
            if (Status done = session->Append({&token, 1}); !done) return done;
            const Result<Sample> sample = sampler.Draw(session->logits(), {}, i);
            if (!sample) return std::unexpected(sample.error());
            token = sample->token;
          }
          return {};
        },
        status);
    if (!status) return std::unexpected(status.error());
    return static_cast<double>(args_.generate) / seconds;
  }

  double KvBytesRead(double positions) const {
    const auto per_token =
        static_cast<double>(KvBytesPerToken(KvSpecOf(model_.config()), model_.options().kv_type));
    return per_token * positions;
  }

  double DecodeBytes() const {
    const double mean_depth =
        static_cast<double>(args_.depth) + static_cast<double>(args_.generate) / 2;
    return WeightBytesOfAPass(model_.weights(), model_.config().router, args_.batch) /
               static_cast<double>(args_.batch) +
           KvBytesRead(mean_depth);
  }

  // A chunk reads the weights once, and the keys and values of what stands before it once.
  double PrefillBytes() const {
    const std::int64_t chunk = std::min(args_.prompt, model_.options().max_batch_tokens);
    const double mean_depth =
        static_cast<double>(args_.depth) + static_cast<double>(args_.prompt) / 2;
    return (WeightBytesOfAPass(model_.weights(), model_.config().router, chunk) +
            KvBytesRead(mean_depth)) /
           static_cast<double>(chunk);
  }

  LoadedModel& model_;
  const BenchArgs& args_;
  Session stem_;
  std::vector<TokenId> tokens_;
};

// Decode is held against reading, prefill against multiplying.
void AddShares(const MachineLimits& limits, std::vector<BenchResult>& results) {
  for (BenchResult& result : results) {
    const double speed = Median(result.tokens_per_second);
    result.share_of_limit = result.test == "decode"
                                ? speed * result.bytes_per_token / limits.dram_bytes_per_s
                                : speed * result.operations_per_token / limits.dot_op_per_s;
  }
}

OutputJson AsJson(const LoadedModel& model, const BenchArgs& args,
                  const std::optional<MachineLimits>& limits,
                  const std::vector<BenchResult>& results) {
  OutputJson document;
  document["machine"] = {{"cpu", CpuName()}, {"cores", NumCores()}};
  if (limits) {
    document["machine"]["limits"] = {{"dram_bytes_per_s", limits->dram_bytes_per_s},
                                     {"fma_flop_per_s", limits->fma_flop_per_s},
                                     {"dot16_op_per_s", limits->dot_op_per_s}};
  }
  document["model"] = model.file().path();
  document["numerics"] = std::string(NumericsName(model.options().numerics));
  document["kv_type"] = std::string(KvTypeName(model.options().kv_type));
  document["repeat"] = args.repeat;
  document["results"] = OutputJson::array();
  for (const BenchResult& result : results) {
    document["results"].push_back(
        OutputJson{{"test", result.test},
                   {"prompt", result.prompt},
                   {"depth", args.depth},
                   {"generate", result.generate},
                   {"batch", args.batch},
                   {"threads", model.options().threads},
                   {"isa", std::string(IsaName(model.isa()))},
                   {"tokens_per_s",
                    {{"median", Median(result.tokens_per_second)},
                     {"min", result.tokens_per_second.front()},
                     {"max", result.tokens_per_second.back()}}},
                   {"bytes_per_token", result.bytes_per_token},
                   {"operations_per_token", result.operations_per_token},
                   {"share_of_limit",
                    result.share_of_limit ? OutputJson(*result.share_of_limit) : OutputJson()}});
  }
  return document;
}

std::string LimitsText(const MachineLimits& limits) {
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(),
                "limits: read %.1f GB/s, FMA %.0f GFLOP/s, 16-bit dot products %.0f GOP/s\n",
                1e-9 * limits.dram_bytes_per_s, 1e-9 * limits.fma_flop_per_s,
                1e-9 * limits.dot_op_per_s);
  return line.data();
}

std::string AsText(const LoadedModel& model, const BenchArgs& args,
                   const std::optional<MachineLimits>& limits,
                   const std::vector<BenchResult>& results) {
  std::string text = CpuName() + ", " + std::string(IsaName(model.isa())) + ", threads " +
                     std::to_string(model.options().threads) + ", numerics " +
                     std::string(NumericsName(model.options().numerics)) + "\n" +
                     model.file().path() + "\n" + (limits ? LimitsText(*limits) : "") +
                     "TEST      TOKENS   DEPTH   TOKENS/S (median)      MIN      MAX" +
                     (limits ? "  OF LIMIT\n" : "\n");
  for (const BenchResult& result : results) {
    const std::int64_t tokens = result.prompt + result.generate;
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(), "%-8s  %6lld  %6lld  %18.2f %8.2f %8.2f",
                  result.test.c_str(), static_cast<long long>(tokens),
                  static_cast<long long>(args.depth), Median(result.tokens_per_second),
                  result.tokens_per_second.front(), result.tokens_per_second.back());
    text += line.data();
    if (result.share_of_limit) {
      std::snprintf(line.data(), line.size(), "  %6.0f %%", 100 * *result.share_of_limit);
      text += line.data();
    }
    text += "\n";
  }
  return text;
}

// While the last prompts of a batch are computed, the first sequences decode already.
std::int64_t StepsBeforeTogether(const BenchArgs& args) {
  const std::int64_t rows = std::max<std::int64_t>(1, args.engine.max_batch_tokens - args.batch);
  return args.batch == 1 ? 0 : args.batch * std::max<std::int64_t>(1, args.depth) / rows + 2;
}

Status RunBench(BenchArgs& args) {
  if (args.serving.serving) return RunServingBench(args.engine, args.serving, args.json);
  if (args.prompt == 0 && args.generate == 0) {
    return UsageError("bench", "--prompt", "and --generate are both 0: nothing to measure");
  }
  if (args.engine.context == 0) {
    args.engine.context =
        args.depth + std::max(args.prompt, args.generate + 2 + StepsBeforeTogether(args));
  }
  Result<LoadOptions> options = LoadOptionsOf(args.engine);
  if (!options) return std::unexpected(options.error());
  options->pool_contexts = args.batch + 1;  // the prefill test's, too
  options->max_logit_rows = args.batch;
  const auto model = LoadModel(args.engine.model, *options);
  if (!model) return std::unexpected(model.error());
  {
    ProgressBar bar("packing");
    (*model)->weights().packing.Finish((*model)->pool(),
                                       [&bar](double fraction) { bar.Update(fraction); });
  }
  std::optional<MachineLimits> limits;
  if (args.limits) {
    Result<MachineLimits> measured = MeasureMachineLimits((*model)->isa(), (*model)->pool());
    if (!measured) return std::unexpected(measured.error());
    limits = *measured;
  }
  auto results = Bench(**model, args).Run();
  if (!results) return std::unexpected(results.error());
  if (limits) AddShares(*limits, *results);
  return args.json ? WriteJson(AsJson(**model, args, limits, *results))
                   : WriteOutput(AsText(**model, args, limits, *results));
}

}  // namespace

void AddBench(const Command& folio) {
  auto args = std::make_shared<BenchArgs>();
  const Command command = folio.AddCommand("bench", "speed of prefill and decode on this machine");
  AddModelArg(command, args->engine.model);
  constexpr std::int64_t kMost = 1 << 24;
  command.AddWhole("--prompt", args->prompt, 0, kMost,
                   "tokens of the prefill test; 0 leaves it out (default: 512)");
  command.AddWhole("--depth", args->depth, 0, kMost,
                   "tokens in the cache before each test (default: 0)");
  command.AddWhole("--generate", args->generate, 0, kMost,
                   "tokens of the decode test; 0 leaves it out (default: 128)");
  command.AddWhole("--batch", args->batch, 1, 4096,
                   "sequences that the decode test computes together (default: 1)");
  command.AddWhole("--repeat", args->repeat, 1, 1000,
                   "measurements after one warm-up (default: 5)");
  command.AddFlag("--limits", args->limits,
                  "also measure what the machine can do, and each test's share of it: of reading "
                  "memory (decode), of multiplying (prefill)");
  command.AddFlag("--json", args->json, "print one JSON document");
  AddServingArgs(command, args->serving);
  AddEngineArgs(command, args->engine);
  command.SetAction([args] { return RunBench(*args); });
}

}  // namespace folio
