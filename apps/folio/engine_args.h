// The engine's options, under the same names on every command that loads a model.
#ifndef FOLIO_APPS_FOLIO_ENGINE_ARGS_H_
#define FOLIO_APPS_FOLIO_ENGINE_ARGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/loaded_model.h"

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
  std::int64_t max_requests = 1;  // these commands run one sequence: any number is enough
  bool no_prefix_cache = false;
};

void AddModelArg(CLI::App& app, std::string& model);
void AddEngineArgs(CLI::App& app, EngineArgs& args);

// "auto", "int8", "int16", or a pair PROMPT,GENERATED of the same two.
Result<Numerics> ParseNumerics(std::string_view text);
std::string_view NumericsName(Numerics numerics);
Result<LoadOptions> EngineOptionsOf(const EngineArgs& args);

// Resolves the model and loads it, with a progress bar where loading takes long.
Result<std::unique_ptr<LoadedModel>> LoadEngine(const EngineArgs& args);
Result<std::unique_ptr<LoadedModel>> LoadEngine(const std::string& model,
                                                const LoadOptions& options);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_ENGINE_ARGS_H_
