// Reads a model's rotary embedding, and how it was stretched, from its file.
#ifndef FOLIO_MODEL_ROPE_CONFIG_H_
#define FOLIO_MODEL_ROPE_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/model_file.h"
#include "model/config.h"

namespace folio {

// `config` comes with its architecture, head size and context length.
Result<RopeConfig> ReadRopeConfig(const ModelFile& file, const ModelConfig& config);

// The divisors of frequencies in a file's tensor, one a pair. Refused are a missing tensor, another
// shape, and what would make angles no numbers.
Result<std::vector<float>> ReadRopeFactors(const ModelFile& file, const std::string& tensor,
                                           std::int64_t pairs);

}  // namespace folio

#endif  // FOLIO_MODEL_ROPE_CONFIG_H_
