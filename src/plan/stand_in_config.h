// A configuration with a shape's sizes, for an architecture that Folio may not have: enough for the
// engine to say what a step's buffers would take.
#ifndef FOLIO_PLAN_STAND_IN_CONFIG_H_
#define FOLIO_PLAN_STAND_IN_CONFIG_H_

#include "model/config.h"
#include "plan/model_shape.h"

namespace folio {

// Its layers are those that store keys and values; one at least.
ModelConfig StandInConfig(const ModelShape& shape);

}  // namespace folio

#endif  // FOLIO_PLAN_STAND_IN_CONFIG_H_
