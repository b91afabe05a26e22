#include "folio/engine_args.h"

#include <limits>
#include <utility>

#include "engine/load_options.h"
#include "folio/options.h"
#include "store/model_store.h"

namespace folio {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

}  // namespace

void AddModelArg(const Command& command, std::string& model) {
  command.AddText("MODEL", model,
                  "a GGUF file, a Hugging Face folder or a name in the store (default: "
                  "$FOLIO_MODEL, else the default "
                  "model)");
}

void AddEngineArgs(const Command& command, EngineArgs& args) {
  const Command group = command.Group("Engine");
  group.AddWhole("--threads", args.threads, 1, 1024, "compute threads (default: one a core)");
  group.AddByteSize("--memory", args.memory,
                    "bytes for weights, KV cache and workspace, such as 8GiB (default: what is "
                    "free)");
  group.AddWhole(
      "--context", args.context, 1, kMost,
      "tokens of a sequence (default: the model's, at most 8192; serve: all of the model's "
      "that memory allows)");
  group.AddWhole("--block-size", args.block_size, 16, 1024,
                 "tokens of a KV block, a multiple of 16");
  group.AddText("--kv-type", args.kv_type, "bf16 (default), f16, f32 or q8_0");
  group.AddText("--numerics", args.numerics,
                "how activations are rounded, PROMPT[,GENERATED]: auto, int8, int16");
  group.AddWhole("--max-batch-tokens", args.max_batch_tokens, 1, 65536,
                 "rows of one forward pass; longer prompts are cut (default: 512)");
  group.AddWhole("--max-requests", args.max_requests, 1, kMost,
                 "replies that are made together; others wait (default: 64)");
  group.AddWhole(
      "--max-draft-tokens", args.max_draft_tokens, 0, 256,
      "tokens of a step that are proposed from the text so far and verified together: the "
      "same reply, sooner where it repeats; 0 = none (default: 15)");
  group
      .AddText("--chat-template", args.chat_template,
               "how conversations are written, in Jinja (default: the model's own)")
      .Takes("FILE");
  group.AddFlag("--no-prefix-cache", args.no_prefix_cache,
                "compute every prompt from its first token");
}

Result<LoadOptions> LoadOptionsOf(const EngineArgs& args) {
  EngineOptions options = EngineOptionsOf(args);
  options.max_requests = 1;
  options.max_draft_tokens = 0;
  options.contexts = 1;
  options.prompt_log_bytes = 0;
  return LoadOptionsOf(options);
}

EngineOptions EngineOptionsOf(const EngineArgs& args) {
  return {.threads = static_cast<int>(args.threads),
          .context = args.context,
          .memory = args.memory,
          .block_size = static_cast<int>(args.block_size),
          .kv_type = args.kv_type,
          .numerics = args.numerics,
          .chat_template = args.chat_template,
          .max_batch_tokens = args.max_batch_tokens,
          .max_requests = args.max_requests,
          .max_draft_tokens = args.max_draft_tokens,
          .prefix_cache = !args.no_prefix_cache};
}

namespace {

Result<std::string> PathOf(const std::string& model) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  return store->Resolve(model);
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadModel(const EngineArgs& args) {
  const Result<LoadOptions> options = LoadOptionsOf(args);
  if (!options) return std::unexpected(options.error());
  return LoadModel(args.model, *options);
}

Result<std::unique_ptr<LoadedModel>> LoadModel(const std::string& model,
                                               const LoadOptions& options) {
  const Result<std::string> path = PathOf(model);
  if (!path) return std::unexpected(path.error());
  return LoadedModel::Load(*path, options);
}

Result<std::unique_ptr<Engine>> OpenEngine(const std::string& model, EngineOptions options) {
  Result<std::string> path = PathOf(model);
  if (!path) return std::unexpected(path.error());
  options.model = *std::move(path);
  return Engine::Open(options);
}

}  // namespace folio
