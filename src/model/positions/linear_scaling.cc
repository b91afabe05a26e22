#include "model/positions/linear_scaling.h"

namespace folio {

Rope MakeRope(const RopeShape& shape, const LinearScaling& scaling) {
  Rope rope{.frequencies = RopeFrequencies(shape)};
  for (double& frequency : rope.frequencies) frequency /= scaling.factor;
  return rope;
}

}  // namespace folio
