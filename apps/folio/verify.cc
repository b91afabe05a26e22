#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine_loop.h"
#include "engine/run_request.h"
#include "engine/session.h"
#include "folio/commands.h"
#include "folio/engine_args.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/progress_bar.h"
#include "folio/verify_kernels.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr std::int64_t kIsaTokens = 8;  // the scalar reference is slow on large models
constexpr std::int64_t kCutTokens = 80;

struct VerifyArgs {
  EngineArgs engine;
  bool json = false;
};

using Logits = std::vector<float>;

std::vector<TokenId> VerifyTokens(const LoadedModel& model, std::int64_t count,
                                  std::uint64_t seed) {
  std::vector<TokenId> tokens;
  const auto vocab = static_cast<double>(model.config().vocab);
  for (std::int64_t i = 0; i < std::min(count, model.plan().context); ++i) {
    tokens.push_back(static_cast<TokenId>(UniformAt(seed, 0, i) * vocab));
  }
  return tokens;
}

// Logits after every token, computed in chunks of `chunk`.
Result<Logits> AllLogits(LoadedModel& model, std::span<const TokenId> tokens, std::size_t chunk) {
  Session session(model);
  Logits all;
  Logits part;
  for (std::size_t first = 0; first < tokens.size(); first += chunk) {
    const auto rows = tokens.subspan(first, std::min(chunk, tokens.size() - first));
    if (const Status done = session.Append(rows, &part); !done) {
      return std::unexpected(done.error());
    }
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Result<Logits> LastLogits(LoadedModel& model, std::span<const TokenId> tokens) {
  Session session(model);
  if (const Status done = session.Append(tokens); !done) return std::unexpected(done.error());
  return Logits(session.logits().begin(), session.logits().end());
}

bool SameBits(const Result<Logits>& a, const Result<Logits>& b) {
  return a && b && a->size() == b->size() &&
         std::memcmp(a->data(), b->data(), a->size() * sizeof(float)) == 0;
}

// Collects the checks; each part that needs its own model loads one after the other, so that
// memory holds the weights once.
class Verify {
 public:
  explicit Verify(const VerifyArgs& args) : args_(args) {}

  Result<std::vector<VerifyCheck>> Run() {
    ProgressBar bar("verifying");
    for (const auto part : {&Verify::Kernels, &Verify::Isas, &Verify::Threads}) {
      if (const Status done = (this->*part)(); !done) return std::unexpected(done.error());
      bar.Update(static_cast<double>(++parts_done_) / 3);
    }
    return checks_;
  }

 private:
  Result<std::unique_ptr<LoadedModel>> Load(Isa isa, int threads) const {
    Result<LoadOptions> options = LoadOptionsOf(args_.engine);
    if (!options) return std::unexpected(options.error());
    options->isa = isa;
    if (threads > 0) options->threads = threads;
    if (options->context == 0) options->context = 2 * kCutTokens;
    return LoadModel(args_.engine.model, *options);
  }

  static Isa BestIsa() {
    const std::vector<Isa> faster = FasterIsas();
    return faster.empty() ? Isa::kScalar : faster.back();
  }

  // Kernels, cuts of the prompt and reuse of a prefix, on the best ISA.
  Status Kernels() {
    const auto model = Load(BestIsa(), 0);
    if (!model) return std::unexpected(model.error());
    Add(VerifyProducts(**model));
    Add(VerifyAttention(**model));
    const auto tokens = VerifyTokens(**model, kCutTokens, 5);
    const auto whole = AllLogits(**model, tokens, tokens.size());
    if (!whole) return std::unexpected(whole.error());
    for (const std::size_t chunk : {1U, 7U, 16U, 64U}) {
      checks_.push_back({.name = "prefill",
                         .detail = "chunks of " + std::to_string(chunk) + " = whole",
                         .ok = SameBits(whole, AllLogits(**model, tokens, chunk))});
    }
    checks_.push_back(PrefixReuse(**model));
    return {};
  }

  // A prompt whose beginning another request has computed gives the reply of a fresh one, and its
  // usage says what was found.
  static VerifyCheck PrefixReuse(LoadedModel& model) {
    VerifyCheck check{.name = "prefix", .detail = "hit = miss", .ok = false};
    const auto first = VerifyTokens(model, kCutTokens, 5);
    auto second = first;
    second.back() = (second.back() + 1) % 2;
    Result<Logits> alone = LastLogits(model, second);
    Logits hit;
    const auto loop = EngineLoop::Create(
        model, {.max_requests = 1, .on_logits = [&hit](std::uint64_t, int, std::span<float> row) {
                  hit.assign(row.begin(), row.end());
                }});
    if (!loop || !alone) return check;
    std::int64_t cached = 0;
    std::uint64_t id = 0;
    for (const auto& prompt : {first, second}) {
      const auto outcome = RunRequest(
          **loop, ++id, {.prompt = prompt, .sampling = {.temperature = 0.0F}, .max_tokens = 1});
      if (!outcome) return check;
      cached = outcome->usage.cached_tokens;
    }
    check.ok = cached > 0 && SameBits(alone, hit) && (*loop)->CheckIntegrity().empty();
    return check;
  }

  Status Isas() {
    Result<Logits> reference;
    for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
      if (!CpuHas(isa)) continue;
      const auto model = Load(isa, 0);
      if (!model) return std::unexpected(model.error());
      const auto tokens = VerifyTokens(**model, kIsaTokens, 6);
      auto logits = AllLogits(**model, tokens, tokens.size());
      if (!logits) return std::unexpected(logits.error());
      if (isa == Isa::kScalar) {
        reference = *std::move(logits);
        continue;
      }
      checks_.push_back({.name = "model",
                         .detail = std::string(IsaName(isa)) + " = scalar",
                         .ok = SameBits(reference, logits)});
    }
    return {};
  }

  Status Threads() {
    Result<Logits> reference;
    for (const int threads : {1, 2, 3}) {
      const auto model = Load(BestIsa(), threads);
      if (!model) return std::unexpected(model.error());
      const auto tokens = VerifyTokens(**model, kCutTokens, 7);
      auto logits = AllLogits(**model, tokens, tokens.size());
      if (!logits) return std::unexpected(logits.error());
      if (threads == 1) {
        reference = *std::move(logits);
        continue;
      }
      checks_.push_back({.name = "model",
                         .detail = "threads " + std::to_string(threads) + " = 1",
                         .ok = SameBits(reference, logits)});
    }
    return {};
  }

  void Add(std::vector<VerifyCheck> more) {
    checks_.insert(checks_.end(), more.begin(), more.end());
  }

  const VerifyArgs& args_;
  std::vector<VerifyCheck> checks_;
  int parts_done_ = 0;
};

Status Print(const std::vector<VerifyCheck>& checks, bool json) {
  if (json) {
    OutputJson list = OutputJson::array();
    for (const VerifyCheck& check : checks) {
      list.push_back(OutputJson{{"name", check.name}, {"detail", check.detail}, {"ok", check.ok}});
    }
    OutputJson document;
    document["ok"] = std::ranges::all_of(checks, &VerifyCheck::ok);
    document["checks"] = list;
    return WriteJson(document);
  }
  std::size_t width = 0;
  for (const VerifyCheck& check : checks) width = std::max(width, check.name.size());
  std::string table;
  for (const VerifyCheck& check : checks) {
    std::string name = check.name;
    name.resize(width, ' ');
    table += std::string(check.ok ? "ok    " : "FAIL  ") + name + "  " + check.detail + "\n";
  }
  return WriteOutput(table);
}

Status RunVerify(const VerifyArgs& args) {
  const auto checks = Verify(args).Run();
  if (!checks) return std::unexpected(checks.error());
  if (Status printed = Print(*checks, args.json); !printed) return printed;
  const auto failed = std::ranges::count(*checks, false, &VerifyCheck::ok);
  if (failed == 0) return {};
  return RuntimeError("verify", "",
                      std::to_string(failed) + " of " + std::to_string(checks->size()) +
                          " checks differ from the reference");
}

}  // namespace

void AddVerify(const Command& folio) {
  auto args = std::make_shared<VerifyArgs>();
  const Command command = folio.AddCommand(
      "verify", "check that every path on this machine gives the reference's bits");
  AddModelArg(command, args->engine.model);
  command.AddFlag("--json", args->json, "print one JSON document");
  AddEngineArgs(command, args->engine);
  command.SetAction([args] { return RunVerify(*args); });
}

}  // namespace folio
