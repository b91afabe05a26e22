// YaRN (Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models").
//
// Section 3.2, "NTK-by-parts": hands that go around often within the trained context L tell near
// positions apart and stay as they are; those that don't go around once tell far ones apart and are
// interpolated by s; between them a ramp:
//   omega' = (1 - gamma) * omega / s + gamma * omega,
//   gamma = 1 for beta_fast rotations in L and more, 0 for beta_slow and less.
// The paper's ramp is linear in the number of rotations; its authors' code, and with it every
// implementation and model since, is linear in the pair's index between the two at which the
// numbers of rotations are reached, rounded outwards. That is what this is. A pair makes r
// rotations in L at the index
//   i(r) = d * ln(L / (2 pi r)) / (2 ln base).
//
// Section 3.4: attention's logits are divided by a temperature t with sqrt(1 / t) = 0.1 ln s + 1.
// Multiplying cosines and sines by that root scales queries and keys each once, so their product
// by 1 / t, and costs nothing.
#ifndef FOLIO_MODEL_POSITIONS_YARN_H_
#define FOLIO_MODEL_POSITIONS_YARN_H_

#include "model/positions/rope.h"

namespace folio {

// 0.1 * mscale * ln(factor) + 1, and 1 for a factor up to 1. With `mscale_all_dim` above 0 divided
// by the same of it (DeepSeek-V2, which has it in the softmax's scale too).
double YarnAttentionFactor(double factor, double mscale = 1.0, double mscale_all_dim = 0.0);

struct YarnScaling {
  double factor = 1.0;            // s
  double original_context = 0.0;  // L, in tokens
  double beta_fast = 32.0;        // rotations
  double beta_slow = 1.0;
  bool whole_pairs = true;        // the ramp begins and ends at whole indices; gpt-oss' doesn't
  double attention_factor = 1.0;  // what cosines and sines are multiplied by
};

Rope MakeRope(const RopeShape& shape, const YarnScaling& scaling);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_YARN_H_
