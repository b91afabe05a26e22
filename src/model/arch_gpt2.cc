#include "model/architectures.h"

namespace folio {

// Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3: learned
// positions, LayerNorm with biases, a network without a gate, biases everywhere.
Status ConfigureGpt2(const ModelFile& file, ModelConfig& config) {
  (void)file;
  config.ropes[0].rotary_dim = 0;
  config.learned_positions = true;
  config.fused_qkv = true;
  config.qkv_bias = true;
  config.attn_out_bias = true;
  config.ffn_bias = true;
  config.gated_ffn = false;
  config.activation = FfnActivation::kGelu;
  return {};
}

}  // namespace folio
