// The sampling options of `run` and `chat`, under the names that the HTTP APIs use.
#ifndef FOLIO_APPS_FOLIO_SAMPLING_ARGS_H_
#define FOLIO_APPS_FOLIO_SAMPLING_ARGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "folio/engine.h"
#include "folio/options.h"

namespace folio {

struct SamplingArgs {
  float temperature = 0.8F;
  std::int64_t top_k = 40;
  float top_p = 0.95F;
  float min_p = 0.05F;
  std::optional<std::uint64_t> seed;
  std::int64_t max_tokens = -1;
  std::vector<std::string> stop;
  float repeat_penalty = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  std::int64_t logprobs = -1;
  std::string json_schema;  // files
  std::string grammar;
};

void AddSamplingArgs(const Command& command, SamplingArgs& args);

// A request with these options and no prompt yet, checked but for the grammar, whose file is read;
// `default_seed` serves where none was given.
Result<Request> RequestOf(const SamplingArgs& args, std::uint64_t default_seed);

// Whether the request's grammar can be used with this engine's model; an input error names the
// file.
Status CheckGrammarFile(const SamplingArgs& args, const Request& request, const Engine& engine);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_SAMPLING_ARGS_H_
