// The engine's options, under the same names on every command that loads a model.
#ifndef FOLIO_APPS_FOLIO_ENGINE_ARGS_H_
#define FOLIO_APPS_FOLIO_ENGINE_ARGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/loaded_model.h"
#include "folio/engine.h"
#include "folio/options.h"

namespace folio {

struct EngineArgs {
  std::string model;  // MODEL: a path, a name in the store, or empty for the default
  std::int64_t threads = 0;
  std::uint64_t memory = 0;
  std::int64_t context = 0;
  std::int64_t block_size = 16;
  std::string kv_type = "bf16";
  std::string numerics = "auto";
  std::int64_t max_batch_tokens = 512;
  std::int64_t max_requests = 64;
  std::int64_t max_draft_tokens = 15;
  std::string chat_template;
  bool no_prefix_cache = false;
};

void AddModelArg(const Command& command, std::string& model);
void AddEngineArgs(const Command& command, EngineArgs& args);

// For one sequence with no engine around it, and for an engine.
Result<LoadOptions> LoadOptionsOf(const EngineArgs& args);
EngineOptions EngineOptionsOf(const EngineArgs& args);

// Resolve the model and load it. A model alone, for commands that look at every logit, or an engine
// around it.
Result<std::unique_ptr<LoadedModel>> LoadModel(const EngineArgs& args);
Result<std::unique_ptr<LoadedModel>> LoadModel(const std::string& model,
                                               const LoadOptions& options);
Result<std::unique_ptr<Engine>> OpenEngine(const std::string& model, EngineOptions options);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_ENGINE_ARGS_H_
