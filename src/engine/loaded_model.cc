#include "engine/loaded_model.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "cpu/machine.h"
#include "engine/model_digest.h"
#include "engine/numerics_name.h"
#include "formats/open_model.h"
#include "kvcache/kv_spec.h"
#include "model/positions.h"
#include "plan/engine_memory.h"
#include "plan/layer_kvs.h"

namespace folio {
namespace {

constexpr std::size_t kMostTraceEvents = std::size_t{1} << 24;
constexpr std::uint64_t kMostPromptLogBytes = std::uint64_t{1} << 40;

Status CheckOptions(const LoadOptions& options) {
  if (options.threads < 0 || options.threads > 1024) {
    return UsageError("--threads", "", std::to_string(options.threads) + " is not from 1 to 1024");
  }
  if (options.context < 0)
    return UsageError("--context", "", std::to_string(options.context) + " is negative");
  if (const std::uint64_t total = TotalMemory(); options.memory > total) {
    return UsageError("--memory", "",
                      std::to_string(options.memory) + " bytes are more than the " +
                          std::to_string(total) + " of this machine (its cgroup, `ulimit -v`)");
  }
  if (options.max_batch_tokens < 1 || options.max_batch_tokens > 65536) {
    return UsageError("--max-batch-tokens", "",
                      std::to_string(options.max_batch_tokens) + " is not from 1 to 65536");
  }
  if (options.prompt_log_bytes > kMostPromptLogBytes) {
    return UsageError("prompt log", "",
                      std::to_string(options.prompt_log_bytes) + " bytes are more than " +
                          std::to_string(kMostPromptLogBytes));
  }
  if (options.trace_events > kMostTraceEvents) {
    return UsageError("trace events", "",
                      std::to_string(options.trace_events) + " are more than " +
                          std::to_string(kMostTraceEvents));
  }
  return {};
}

EngineSizes SizesOf(const LoadOptions& options, Isa isa) {
  return {.isa = isa,
          .numerics = options.numerics,
          .threads = options.threads,
          .max_batch_tokens = options.max_batch_tokens,
          .max_logit_rows = options.max_logit_rows,
          .max_drafters = options.max_drafters,
          .prompt_log_bytes = options.prompt_log_bytes,
          .trace_events = options.trace_events};
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadedModel::Planned(const std::string& path,
                                                          const LoadOptions& options) {
  if (Status checked = CheckOptions(options); !checked) return std::unexpected(checked.error());
  const Result<Isa> isa = options.isa ? Result<Isa>(*options.isa) : ChooseIsa();
  if (!isa) return std::unexpected(isa.error());
  Result<ModelFile> file = OpenModelFile(path);
  if (!file) return std::unexpected(file.error());
  Result<ModelConfig> config = ReadModelConfig(*file);
  if (!config) return std::unexpected(config.error());

  std::unique_ptr<LoadedModel> model(new LoadedModel(options));
  model->isa_ = *isa;
  model->file_ = *std::move(file);
  model->config_ = *std::move(config);
  if (model->options_.threads == 0) model->options_.threads = NumCores();
  if (Status planned = model->PlanParts(); !planned) return std::unexpected(planned.error());
  return model;
}

Result<MemoryPlan> LoadedModel::Plan(const std::string& path, const LoadOptions& options) {
  const auto model = Planned(path, options);
  if (!model) return std::unexpected(model.error());
  return (*model)->plan_;
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::Load(const std::string& path,
                                                       const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto planned = Planned(path, options);
  if (!planned) return std::unexpected(planned.error());
  std::unique_ptr<LoadedModel> model = *std::move(planned);
  model->digest_ = ModelDigest(model->file_);
  if (Status loaded = model->LoadParts(); !loaded) return std::unexpected(loaded.error());
  model->load_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return model;
}

LoadedModel::LoadedModel(const LoadOptions& options)
    : options_(options), trace_(options.trace_events), hasher_(std::make_shared<BlockHasher>()) {}

Status LoadedModel::PlanParts() {
  const Result<WeightBytes> weights = MeasureWeights(file_, config_);
  if (!weights) return std::unexpected(weights.error());
  Result<KvLayout> layout = LayOutKvBlock(KvSpecOf(config_), options_.kv_type, options_.block_size);
  if (!layout) return std::unexpected(layout.error());
  if (options_.context > config_.context_length) {
    return UsageError("--context", "",
                      std::to_string(options_.context) + " is more than the " +
                          std::to_string(config_.context_length) +
                          " that the model was trained for");
  }
  layout_ = *std::move(layout);
  const std::int64_t most = options_.pool == PoolSize::kContexts
                                ? std::min(kDefaultContext, config_.context_length)
                                : config_.context_length;
  MemoryRequest request = MemoryRequestOf(config_, layout_, *weights, SizesOf(options_, isa_));
  request.memory = options_.memory;
  request.context_is_given = options_.context != 0;
  request.context = options_.context != 0 ? options_.context : most;
  request.pool = options_.pool;
  request.contexts = options_.pool_contexts;
  request.num_blocks = options_.num_blocks;
  request.experts.slots = options_.expert_slots;
  Result<MemoryPlan> plan = PlanMemory(request, layout_);
  if (!plan) return std::unexpected(plan.error());
  plan_ = *plan;
  return {};
}

ForwardOptions LoadedModel::ForwardOptionsOf(std::int64_t context) const {
  return {.isa = isa_,
          .numerics = options_.numerics,
          .max_rows = options_.max_batch_tokens,
          .max_context = context};
}

TokenChain LoadedModel::NewChain(std::string_view salt) const {
  const std::string numerics(NumericsName(options_.numerics));
  const BlockHash root = HashContext({.model_digest = digest_,
                                      .block_size = options_.block_size,
                                      .positions = PositionsKey(config_, plan_.context),
                                      .prompt_numerics = numerics,
                                      .generated_numerics = numerics,
                                      .kv_type = options_.kv_type,
                                      .salt = std::string(salt)});
  return {hasher_, root, options_.block_size, /*row_kinds_differ=*/false};
}

Status CheckTokenIds(std::span<const TokenId> tokens, std::int64_t vocab) {
  for (const TokenId token : tokens) {
    if (token < 0 || token >= vocab) {
      return UsageError("prompt", "token " + std::to_string(token),
                        "is not from 0 to " + std::to_string(vocab - 1));
    }
  }
  return {};
}

// The tokenizer and the template on a thread of their own beside the weights: a large vocabulary
// takes as long.
Status LoadedModel::LoadParts() {
  pool_ = std::make_unique<ThreadPool>(options_.threads);
  if (pool_->size() < options_.threads) {
    return RuntimeError("threads", "",
                        "the system starts only " + std::to_string(pool_->size()) + " of " +
                            std::to_string(options_.threads) + " (see `ulimit -a`, --threads)");
  }
  Status text;
  std::jthread text_thread([&] {
    try {
      text = LoadText();
    } catch (const std::bad_alloc&) {
      text = RuntimeError("memory", "tokenizer", "the system gives no more");
    }
  });
  Result<std::unique_ptr<ModelWeights>> weights =
      LoadWeights(file_, config_, *pool_, plan_.expert_slots);
  text_thread.join();
  if (!weights) return std::unexpected(weights.error());
  if (!text) return text;
  weights_ = *std::move(weights);
  Result<KvStorage> storage = KvStorage::Create(layout_, plan_.num_blocks, options_.kv_commit);
  if (!storage) return std::unexpected(storage.error());
  kv_storage_.emplace(*std::move(storage));
  cache_ = std::make_unique<KvCacheManager>(GroupSpecs(layout_), options_.block_size,
                                            plan_.num_blocks, options_.prefix_cache, &trace_);
  Result<std::unique_ptr<Forward>> forward =
      Forward::Create(config_, *weights_, LayerKvs(layout_, config_, kv_storage_->data()),
                      ForwardOptionsOf(plan_.context), *pool_);
  if (!forward) return std::unexpected(forward.error());
  forward_ = *std::move(forward);
  return {};
}

Status LoadedModel::LoadText() {
  Result<Tokenizer> tokenizer = Tokenizer::FromModel(file_);
  if (!tokenizer) return std::unexpected(tokenizer.error());
  if (tokenizer->vocab_size() > config_.vocab) {
    return InputError(file_.path(), "tokenizer.ggml.tokens",
                      "has " + std::to_string(tokenizer->vocab_size()) +
                          " tokens, token_embd.weight only " + std::to_string(config_.vocab) +
                          " rows");
  }
  tokenizer_.emplace(*std::move(tokenizer));
  grammars_.emplace(*tokenizer_);
  if (options_.chat_template.empty()) {
    chat_template_.emplace(ChatTemplate::FromModel(file_, *tokenizer_));
    return {};
  }
  chat_template_.emplace(ChatTemplate::FromFile(options_.chat_template, *tokenizer_));
  if (!*chat_template_) return std::unexpected(chat_template_->error());
  return {};
}

}  // namespace folio
