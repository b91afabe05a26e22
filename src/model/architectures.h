// The architectures, each a function that adds to the common configuration what is its own.
#ifndef FOLIO_MODEL_ARCHITECTURES_H_
#define FOLIO_MODEL_ARCHITECTURES_H_

#include "base/error.h"
#include "formats/gguf.h"
#include "model/config.h"

namespace folio {

// The bases of rotary embeddings that are taken; beyond, angles are no numbers.
constexpr double kSmallestRopeBase = 1.0;
constexpr double kLargestRopeBase = 1e12;

// `config` comes with everything that all decoder families share already filled in and checked.
Status ConfigureLlama(const Gguf& file, ModelConfig& config);   // Llama 2 and 3.x, SmolLM2, Mistral
Status ConfigureQwen2(const Gguf& file, ModelConfig& config);   // Qwen 2 and 2.5
Status ConfigureQwen3(const Gguf& file, ModelConfig& config);   // Qwen 3, dense
Status ConfigureGemma3(const Gguf& file, ModelConfig& config);  // Gemma 3, text

}  // namespace folio

#endif  // FOLIO_MODEL_ARCHITECTURES_H_
