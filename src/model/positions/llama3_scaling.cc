#include "model/positions/llama3_scaling.h"

#include <algorithm>

namespace folio {

Rope MakeRope(const RopeShape& shape, const Llama3Scaling& scaling) {
  Rope rope{.frequencies = RopeFrequencies(shape)};
  for (double& omega : rope.frequencies) {
    const double rotations = scaling.original_context / Wavelength(omega);
    // Clamped, the ramp is 1 for short wavelengths and 0 for long ones.
    const double smooth = std::clamp((rotations - scaling.low_freq_factor) /
                                         (scaling.high_freq_factor - scaling.low_freq_factor),
                                     0.0, 1.0);
    omega = (1 - smooth) * (omega / scaling.factor) + smooth * omega;
  }
  return rope;
}

}  // namespace folio
