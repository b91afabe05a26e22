#include "folio/plan_args.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "cpu/isa.h"
#include "cpu/machine.h"
#include "engine/loaded_model.h"
#include "engine/numerics_name.h"
#include "folio/plan_hub.h"
#include "plan/known_models.h"
#include "plan/read_shape.h"
#include "store/model_store.h"

namespace folio {
namespace {

constexpr std::uint64_t kPromptLogBytes = std::uint64_t{16} << 20;  // of an engine for a server

struct NamedCodings {
  KvCodings codings;
  KvType step_type = KvType::kBf16;
  bool engine_has = true;
};

// "bf16", or "K,V".
Result<NamedCodings> ParseKvTypes(const std::string& text) {
  const std::size_t comma = text.find(',');
  const std::string keys = text.substr(0, comma);
  const std::string values = comma == text.npos ? keys : text.substr(comma + 1);
  const auto key_coding = KvCodingFromName(keys);
  const auto value_coding = KvCodingFromName(values);
  if (!key_coding || !value_coding) {
    return UsageError(
        "plan", "--kv-type",
        "'" + (key_coding ? values : keys) + "' is none of bf16, f16, f32, q8_0, q4_0");
  }
  const auto step_type = KvTypeFromName(keys);
  return NamedCodings{.codings = {*key_coding, *value_coding},
                      .step_type = step_type.value_or(KvType::kQ8_0),
                      .engine_has = step_type && keys == values};
}

}  // namespace

void AddPlanArgs(const Command& command, PlanArgs& args) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
  command.AddWhole("--context", args.context, 1, kMostTokens,
                   "tokens of each user's sequence (default: the model's, at most 8192)");
  command.AddWhole("--users", args.users, 1, kMostTokens,
                   "sequences at the same time (default: 1)");
  command.AddWhole("--shared-prefix", args.shared_prefix, 0, kMostTokens,
                   "first tokens that all users have in common: kept once (default: 0)");
  command.AddByteSize("--memory", args.memory,
                      "what it must fit in (default: what this machine has free)");
  command
      .AddText("--kv-type", args.kv_type,
               "bf16, f16, f32, q8_0 or q4_0, or one for keys and one for values (default: bf16)")
      .Takes("K[,V]");
  command.AddWhole("--block-size", args.block_size, 16, 65536,
                   "tokens of a KV block, a multiple of 16 (default: 16)");
  command.AddWhole("--max-batch-tokens", args.max_batch_tokens, 1, 65536,
                   "rows of one forward pass (default: 512)");
  command.AddWhole("--threads", args.threads, 1, 1024, "threads (default: one a core)");
  command
      .AddText("--weights", args.weights,
               "type of the weights, in the place of the model's: bf16, q8_0, q4_k, fp8 ...")
      .Takes("TYPE");
  command.AddByteSize("--weights-bytes", args.weights_bytes, "size of the weights, if you know it");
  command.AddFlag("--explain", args.explain, "the KV cache's size, factor by factor");
  command.AddFlag("--compare", args.compare, "a table of several models");
  command.AddFlag("--list", args.list, "the models and architectures that are known by name");
  command.AddFlag("--json", args.json, "print one JSON document");
  const Command speed = command.Group("Speed");
  speed.AddWhole("--batch", args.batch, 1, 1 << 20,
                 "sequences that a step makes a token of (default: --users)");
  speed.AddReal("--bandwidth", args.bandwidth, "GB/s that the machine reads of its memory");
  speed.AddReal("--compute", args.compute, "GOP/s, multiplications and additions one each");
  speed.AddFlag("--measure", args.measure, "measure both on this machine (some seconds)");
  const Command hosted = command.Group("What a hosted prompt cache would have charged");
  hosted.AddWhole("--requests", args.requests, 1, std::int64_t{1} << 40,
                  "of all users together; each has --context tokens of prompt, of which "
                  "--shared-prefix are cached");
  hosted.AddReal("--interval", args.interval, "seconds between two requests (default: 0)");
  hosted.AddReal("--write-factor", args.write_factor,
                 "price of a token written, in tokens of input (default: 1.25)");
  hosted.AddReal("--read-factor", args.read_factor, "of a token read (default: 0.1)");
  hosted.AddReal("--ttl", args.ttl,
                 "seconds that a prefix is kept from its last use (default: 300)");
  hosted.AddReal("--price", args.price, "of a million tokens of input");
}

namespace {

Result<ModelShape> ReadShapeForPlan(const std::string& model) {
  if (model.starts_with("hf:")) return ReadHubShape(model);
  std::error_code error;
  if (!model.empty() && std::filesystem::exists(model, error)) return ReadModelShape(model);
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  const Result<std::string> found =
      store ? store->Resolve(model) : Result<std::string>(std::unexpected(store.error()));
  if (found) return ReadModelShape(*found);
  if (std::optional<Result<ModelShape>> known = FindKnownModel(model)) return *std::move(known);
  Error missing = found.error();
  if (!model.empty()) {
    std::string names;
    for (const std::string_view name : KnownModelNames())
      names += (names.empty() ? "" : ", ") + std::string(name);
    missing.why += "; names that `plan` knows: " + names;
  }
  return std::unexpected(std::move(missing));
}

}  // namespace

Result<std::shared_ptr<const ModelShape>> ShapeForPlan(const std::string& model) {
  Result<ModelShape> shape = ReadShapeForPlan(model);
  if (!shape) return std::unexpected(shape.error());
  return std::make_shared<const ModelShape>(*std::move(shape));
}

Result<PlanSettings> PlanSettingsOf(const PlanArgs& args) {
  const Result<NamedCodings> codings = ParseKvTypes(args.kv_type);
  if (!codings) return std::unexpected(codings.error());
  if (args.block_size % 16 != 0) {
    return UsageError("plan", "--block-size",
                      std::to_string(args.block_size) + " is no positive multiple of 16");
  }
  const Result<Isa> isa = ChooseIsa();
  if (!isa) return std::unexpected(isa.error());
  const Result<Numerics> numerics = ParseNumerics("auto");
  if (!numerics) return std::unexpected(numerics.error());
  PlanSettings settings;
  settings.kv = {.shared_prefix = args.shared_prefix,
                 .chunk = args.max_batch_tokens,
                 .block_size = static_cast<int>(args.block_size),
                 .codings = codings->codings};
  settings.step_type = codings->step_type;
  settings.engine_has_codings = codings->engine_has;
  settings.memory = args.memory > 0 ? args.memory : AvailableMemory();
  settings.engine = {.isa = *isa,
                     .numerics = *numerics,
                     .threads = args.threads > 0 ? static_cast<int>(args.threads) : NumCores(),
                     .max_batch_tokens = args.max_batch_tokens,
                     .prompt_log_bytes = kPromptLogBytes};
  settings.weight_type = args.weights;
  if (args.weights_bytes > 0) settings.weights_bytes = args.weights_bytes;
  return settings;
}

std::int64_t PlanContext(const PlanArgs& args, const ModelShape& shape) {
  if (args.context > 0) return args.context;
  return shape.context_length > 0 ? std::min(kDefaultContext, shape.context_length)
                                  : kDefaultContext;
}

}  // namespace folio
