#include "engine/loaded_model.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <thread>

#include "base/checked.h"
#include "cpu/machine.h"
#include "kvcache/kv_spec.h"

namespace folio {
namespace {

constexpr std::int64_t kDefaultContext = 8192;

Status CheckOptions(const LoadOptions& options) {
  if (options.threads < 0 || options.threads > 1024) {
    return UsageError("--threads", "", std::to_string(options.threads) + " is not from 1 to 1024");
  }
  if (options.context < 0)
    return UsageError("--context", "", std::to_string(options.context) + " is negative");
  if (options.max_batch_tokens < 1 || options.max_batch_tokens > 65536) {
    return UsageError("--max-batch-tokens", "",
                      std::to_string(options.max_batch_tokens) + " is not from 1 to 65536");
  }
  return {};
}

bool PlanFits(const MemoryPlan& plan) {
  std::uint64_t left = plan.budget_bytes;
  for (const std::uint64_t part : {plan.weights_bytes, plan.kv_bytes, plan.workspace_bytes}) {
    if (part > left) return false;
    left -= part;
  }
  return true;
}

std::vector<KvView> ViewsOf(const KvLayout& layout, const ModelConfig& config, std::byte* base) {
  std::vector<KvView> views;
  for (const KvLayerLayout& layer : layout.layers) {
    views.push_back({.base = base,
                     .block_stride = static_cast<std::int64_t>(layout.block_bytes),
                     .layer_offset = static_cast<std::int64_t>(layer.offset),
                     .head_stride = static_cast<std::int64_t>(layer.head_stride),
                     .v_offset = static_cast<std::int64_t>(layer.v_offset),
                     .block_size = layout.block_size,
                     .kv_heads = config.kv_heads,
                     .head_dim = config.head_dim,
                     .type = layout.type});
  }
  return views;
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadedModel::Load(const std::string& path,
                                                       const LoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (Status checked = CheckOptions(options); !checked) return std::unexpected(checked.error());
  const Result<Isa> isa = options.isa ? Result<Isa>(*options.isa) : ChooseIsa();
  if (!isa) return std::unexpected(isa.error());
  Result<Gguf> file = Gguf::Open(path);
  if (!file) return std::unexpected(file.error());
  Result<ModelConfig> config = ReadModelConfig(*file);
  if (!config) return std::unexpected(config.error());

  std::unique_ptr<LoadedModel> model(new LoadedModel);
  model->options_ = options;
  model->isa_ = *isa;
  model->file_ = *std::move(file);
  model->config_ = *std::move(config);
  if (model->options_.threads == 0) model->options_.threads = NumCores();
  if (Status planned = model->PlanMemory(); !planned) return std::unexpected(planned.error());
  if (Status loaded = model->LoadParts(); !loaded) return std::unexpected(loaded.error());
  model->load_seconds_ =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return model;
}

// Fills plan_ or says in numbers what does not fit.
Status LoadedModel::PlanMemory() {
  const Result<std::uint64_t> weights = WeightsBytes(file_, config_);
  if (!weights) return std::unexpected(weights.error());
  Result<KvLayout> layout = LayOutKvBlock(KvSpecOf(config_), options_.kv_type, options_.block_size);
  if (!layout) return std::unexpected(layout.error());
  if (options_.context > config_.context_length) {
    return UsageError("--context", "",
                      std::to_string(options_.context) + " is more than the " +
                          std::to_string(config_.context_length) +
                          " that the model was trained for");
  }
  plan_.weights_bytes = *weights;
  plan_.budget_bytes = options_.memory != 0 ? options_.memory : AvailableMemory();
  plan_.context =
      options_.context != 0 ? options_.context : std::min(kDefaultContext, config_.context_length);
  layout_ = *std::move(layout);
  ChooseContext();
  if (!PlanFits(plan_)) {
    return RuntimeError("memory", options_.memory != 0 ? "--memory" : "machine",
                        std::to_string(plan_.budget_bytes) + " bytes are too few: weights need " +
                            std::to_string(plan_.weights_bytes) + ", the KV cache of " +
                            std::to_string(plan_.context) + " tokens " +
                            std::to_string(plan_.kv_bytes) + ", the workspace " +
                            std::to_string(plan_.workspace_bytes));
  }
  return {};
}

// Prices plan_.context; where the user left it open, halves it until the budget holds it.
void LoadedModel::ChooseContext() {
  while (true) {
    plan_.num_blocks = BlocksForTokens(plan_.context, options_.block_size);
    plan_.kv_bytes =
        CheckedMul<std::uint64_t>(static_cast<std::uint64_t>(plan_.num_blocks), layout_.block_bytes)
            .value_or(std::numeric_limits<std::uint64_t>::max());
    plan_.workspace_bytes = Forward::WorkspaceBytes(config_, ViewsOf(layout_, config_, nullptr),
                                                    ForwardOptionsOf(), options_.threads);
    if (PlanFits(plan_) || options_.context != 0 || plan_.context <= options_.block_size) return;
    plan_.context /= 2;
  }
}

ForwardOptions LoadedModel::ForwardOptionsOf() const {
  return {.isa = isa_,
          .numerics = options_.numerics,
          .max_rows = std::min(options_.max_batch_tokens, plan_.context),
          .max_logit_rows = 64,
          .max_context = plan_.context};
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
  Result<std::unique_ptr<ModelWeights>> weights = LoadWeights(file_, config_, *pool_);
  text_thread.join();
  if (!weights) return std::unexpected(weights.error());
  if (!text) return text;
  weights_ = *std::move(weights);
  Result<KvStorage> storage = KvStorage::Create(layout_, plan_.num_blocks);
  if (!storage) return std::unexpected(storage.error());
  kv_storage_.emplace(*std::move(storage));
  block_pool_ = std::make_unique<BlockPool>(plan_.num_blocks);
  Result<std::unique_ptr<Forward>> forward =
      Forward::Create(config_, *weights_, ViewsOf(layout_, config_, kv_storage_->data()),
                      ForwardOptionsOf(), *pool_);
  if (!forward) return std::unexpected(forward.error());
  forward_ = *std::move(forward);
  return {};
}

Status LoadedModel::LoadText() {
  Result<Tokenizer> tokenizer = Tokenizer::FromGguf(file_);
  if (!tokenizer) return std::unexpected(tokenizer.error());
  if (tokenizer->vocab_size() > config_.vocab) {
    return InputError(file_.path(), "tokenizer.ggml.tokens",
                      "has " + std::to_string(tokenizer->vocab_size()) +
                          " tokens, token_embd.weight only " + std::to_string(config_.vocab) +
                          " rows");
  }
  tokenizer_.emplace(*std::move(tokenizer));
  chat_template_.emplace(ChatTemplate::FromGguf(file_, *tokenizer_));
  return {};
}

}  // namespace folio
