#include "model/architectures.h"

namespace folio {

// Muennighoff et al. 2024, "OLMoE", section 2: probabilities as they are; queries and keys normed
// whole, before they are cut into heads.
Status ConfigureOlmoe(const ModelFile& file, ModelConfig& config) {
  config.rope_pairs = RopePairs::kHalves;
  config.qk_norm_whole = true;
  config.router.weights = RouterWeights::kScores;
  return ReadExperts(file, WidthWithoutKey::kOfOne, config);
}

}  // namespace folio
