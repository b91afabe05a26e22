#include "model/architectures.h"

namespace folio {

// Abdin et al. 2024, "Phi-3 Technical Report", section 2.
Status ConfigurePhi3(const ModelFile& file, ModelConfig& config) {
  config.rope_pairs = RopePairs::kHalves;
  config.fused_qkv = true;
  config.fused_gate_up = true;
  return ReadWindow(file, config);
}

}  // namespace folio
