// The architectures, each a function that adds to the common configuration what is its own.
#ifndef FOLIO_MODEL_ARCHITECTURES_H_
#define FOLIO_MODEL_ARCHITECTURES_H_

#include "base/error.h"
#include "formats/model_file.h"
#include "model/config.h"
#include "model/config_reader.h"

namespace folio {

// The bases of rotary embeddings that are taken; beyond, angles are no numbers.
constexpr double kSmallestRopeBase = 1.0;
constexpr double kLargestRopeBase = 1e12;

// `config` comes with everything that all decoder families share already filled in and checked.
Status ConfigureLlama(const ModelFile& file,
                      ModelConfig& config);  // Llama 2 and 3.x, SmolLM2, Mistral, Mixtral
Status ConfigureQwen2(const ModelFile& file, ModelConfig& config);  // Qwen 2 and 2.5
Status ConfigureQwen3(const ModelFile& file, ModelConfig& config);  // Qwen 3, dense
Status ConfigureQwen2Moe(const ModelFile& file, ModelConfig& config);
Status ConfigureQwen3Moe(const ModelFile& file, ModelConfig& config);
Status ConfigureOlmoe(const ModelFile& file, ModelConfig& config);
Status ConfigureGranite(const ModelFile& file, ModelConfig& config);     // dense
Status ConfigureGraniteMoe(const ModelFile& file, ModelConfig& config);  // with experts
Status ConfigurePhi3(const ModelFile& file, ModelConfig& config);        // Phi-3 and Phi-4-mini
Status ConfigureGemma2(const ModelFile& file, ModelConfig& config);
Status ConfigureGemma3(const ModelFile& file, ModelConfig& config);  // Gemma 3, text
Status ConfigureGpt2(const ModelFile& file, ModelConfig& config);
Status ConfigureDeepSeek2(const ModelFile& file, ModelConfig& config);  // DeepSeek V2, V3 and R1
Status ConfigureGptOss(const ModelFile& file, ModelConfig& config);     // gpt-oss 20B and 120B

// Reads the shapes of MLA's heads, from files of before and after April 2025.
void ReadLatentHeads(ConfigReader& read, ModelConfig& config);

// A window that every layer has alike: attention.sliding_window, 0 or absent for none.
Status ReadWindow(const ModelFile& file, ModelConfig& config);

// What feed_forward_length means in a file that does not say how wide an expert is.
enum class WidthWithoutKey {
  kOfOne,     // one expert's width
  kOfChosen,  // that of a token's experts together
};

// Reads what Mixture-of-Experts files have in common: expert_count, expert_used_count and
// expert_feed_forward_length. All layers get experts but the first leading_dense_block_count.
Status ReadExperts(const ModelFile& file, WidthWithoutKey width, ModelConfig& config);

}  // namespace folio

#endif  // FOLIO_MODEL_ARCHITECTURES_H_
