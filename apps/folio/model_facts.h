// What `show` and `models` say about a model file, without loading it.
#ifndef FOLIO_APPS_FOLIO_MODEL_FACTS_H_
#define FOLIO_APPS_FOLIO_MODEL_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "formats/model_file.h"
#include "model/config.h"

namespace folio {

struct TypeTotals {
  std::int64_t tensors = 0;
  std::uint64_t bytes = 0;
};

struct ModelFacts {
  std::string architecture;
  std::string name;
  std::uint64_t parameters = 0;
  std::uint64_t tensor_bytes = 0;
  std::map<std::string, TypeTotals> types;          // by type name
  Result<ModelConfig> config;                       // or why Folio cannot run it
  std::optional<std::uint64_t> kv_bytes_per_token;  // KV type bf16; nothing without a config
};

ModelFacts FactsOf(const ModelFile& file);

// The type that most weight bytes are in: "Q4_K".
std::string MainType(const ModelFacts& facts);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_MODEL_FACTS_H_
