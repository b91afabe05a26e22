#include "model/architectures.h"

namespace folio {

// Qwen Team 2025, "Qwen3 Technical Report", section 2.
Status ConfigureQwen3Moe(const ModelFile& file, ModelConfig& config) {
  if (Status dense = ConfigureQwen3(file, config); !dense) return dense;
  config.router.weights = RouterWeights::kRenormalised;
  return ReadExperts(file, WidthWithoutKey::kOfChosen, config);
}

}  // namespace folio
