// Position interpolation (Chen et al. 2023, "Extending Context Window of Large Language Models via
// Positional Interpolation", eq. 4): position m becomes m / factor, which is to say that every hand
// turns more slowly by that factor.
#ifndef FOLIO_MODEL_POSITIONS_LINEAR_SCALING_H_
#define FOLIO_MODEL_POSITIONS_LINEAR_SCALING_H_

#include "model/positions/rope.h"

namespace folio {

struct LinearScaling {
  double factor = 1.0;
};

Rope MakeRope(const RopeShape& shape, const LinearScaling& scaling);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_LINEAR_SCALING_H_
