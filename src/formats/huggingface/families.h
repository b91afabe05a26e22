// The families of models that are read from folders, each a table entry and a small file
// (family_*.cc): which GGUF architecture it is, how config.json's fields become GGUF's keys, and
// what its tensors are called.
#ifndef FOLIO_FORMATS_HUGGINGFACE_FAMILIES_H_
#define FOLIO_FORMATS_HUGGINGFACE_FAMILIES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/huggingface/config_fields.h"
#include "formats/huggingface/model_builder.h"
#include "formats/huggingface/tensor_rules.h"

namespace folio {

struct ModelFamily {
  std::string_view model_type;    // config.json's
  std::string_view architecture;  // GGUF's
  TensorRules rules;              // of a layer's tensors
  // Sets the keys of `architecture`; errors stay in `config`.
  void (*configure)(ConfigFields& config, ModelBuilder& model);
  // The converter to GGUF puts the rows of queries and keys that turn together side by side, which
  // folders don't: there they are halves.
  bool pairs_reordered = false;
  // Norms are stored without the one that is added to them.
  bool norms_add_one = false;
};

// Null if there is none.
const ModelFamily* FindModelFamily(std::string_view model_type);
// "llama, mistral, ..."
std::string KnownModelTypes();

// What all decoders have: sizes, heads, norm, context. Gives the width of a head. Refuses what no
// family has code for: quantised folders, biases and windows that a family does not ask for.
std::uint64_t MapDecoder(ConfigFields& config, ModelBuilder& model);
// The feed-forward network's activation, in the field `field`.
void RequireSilu(ConfigFields& config);
// Refuses layers of another kind than full attention (the list layer_types, where there is one).
void RequireFullAttention(ConfigFields& config);
// How many experts there are (num_experts or num_local_experts) and how many a token goes to.
void MapExperts(ConfigFields& config, ModelBuilder& model);
// Refuses layers without experts among others with them.
void RequireExpertsInAllLayers(ConfigFields& config);

extern const ModelFamily kLlamaFamily;
extern const ModelFamily kMistralFamily;
extern const ModelFamily kMixtralFamily;
extern const ModelFamily kQwen2Family;
extern const ModelFamily kQwen3Family;
extern const ModelFamily kQwen2MoeFamily;
extern const ModelFamily kQwen3MoeFamily;
extern const ModelFamily kOlmoeFamily;
extern const ModelFamily kGemma2Family;
extern const ModelFamily kGemma3Family;
extern const ModelFamily kGraniteFamily;
extern const ModelFamily kGraniteMoeFamily;
extern const ModelFamily kGraniteMoeSharedFamily;
extern const ModelFamily kPhi3Family;
extern const ModelFamily kDeepSeekV2Family;
extern const ModelFamily kDeepSeekV3Family;

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_FAMILIES_H_
