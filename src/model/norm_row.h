// A model's norm of one row, RMSNorm or LayerNorm.
#ifndef FOLIO_MODEL_NORM_ROW_H_
#define FOLIO_MODEL_NORM_ROW_H_

#include "cpu/isa.h"
#include "kernels/elementwise.h"
#include "model/config.h"
#include "model/weights.h"

namespace folio {

// in, out: [hidden]; out may be in.
inline void NormRow(Isa isa, const ModelConfig& config, const NormWeights& norm, const float* in,
                    float* out) {
  if (config.layer_norm) {
    LayerNorm(isa, in, norm.weight.data(), norm.bias.data(), config.hidden, config.norm_eps, out);
  } else {
    RmsNorm(isa, in, norm.weight.data(), config.hidden, config.norm_eps, out);
  }
}

}  // namespace folio

#endif  // FOLIO_MODEL_NORM_ROW_H_
