// Llama 3.1's scaling (Llama Team 2024, "The Llama 3 Herd of Models", and the reference code of its
// models): by a hand's wavelength against the context L of the first training,
//   below L / high_freq_factor: as it was,
//   above L / low_freq_factor: slower by `factor`,
//   between: omega' = (1 - smooth) * omega / factor + smooth * omega,
//            smooth = (L / wavelength - low) / (high - low).
// GGUF files hold its result, one divisor a pair (DivideByFactors).
#ifndef FOLIO_MODEL_POSITIONS_LLAMA3_SCALING_H_
#define FOLIO_MODEL_POSITIONS_LLAMA3_SCALING_H_

#include "model/positions/rope.h"

namespace folio {

struct Llama3Scaling {
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_context = 8192.0;
};

Rope MakeRope(const RopeShape& shape, const Llama3Scaling& scaling);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_LLAMA3_SCALING_H_
