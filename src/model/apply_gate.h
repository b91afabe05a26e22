// The activation of a gated network.
#ifndef FOLIO_MODEL_APPLY_GATE_H_
#define FOLIO_MODEL_APPLY_GATE_H_

#include <cstdint>

#include "cpu/isa.h"
#include "kernels/elementwise.h"
#include "model/config.h"

namespace folio {

// out[i] = act(gate[i]) * up[i] for n elements. out may be gate.
inline void ApplyGate(Isa isa, FfnActivation activation, const float* gate, const float* up,
                      std::int64_t n, float* out) {
  switch (activation) {
    case FfnActivation::kSilu:
      return SiluMul(isa, gate, up, n, out);
    case FfnActivation::kGelu:
      return GeluMul(isa, gate, up, n, out);
    case FfnActivation::kClampedSilu:
      return ClampedSiluMul(isa, gate, up, n, out);
  }
}

}  // namespace folio

#endif  // FOLIO_MODEL_APPLY_GATE_H_
