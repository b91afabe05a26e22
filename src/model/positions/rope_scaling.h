// What was done to a rotary embedding so that its model reads further than it was trained: one of
// these.
#ifndef FOLIO_MODEL_POSITIONS_ROPE_SCALING_H_
#define FOLIO_MODEL_POSITIONS_ROPE_SCALING_H_

#include <cstdint>
#include <string_view>
#include <variant>

#include "model/positions/dynamic_ntk.h"
#include "model/positions/linear_scaling.h"
#include "model/positions/llama3_scaling.h"
#include "model/positions/longrope.h"
#include "model/positions/rope.h"
#include "model/positions/yarn.h"

namespace folio {

struct NoScaling {};

using RopeScaling = std::variant<NoScaling, LinearScaling, DynamicNtkScaling, YarnScaling,
                                 Llama3Scaling, LongRopeScaling>;

// `length`: of the sequence (dynamic NTK), or of the longest that there may be (LongRoPE); the
// others do not depend on it.
Rope MakeRope(const RopeShape& shape, const RopeScaling& scaling, std::int64_t length);

// "none", "linear", "dynamic", "yarn", "llama3", "longrope"
std::string_view RopeScalingName(const RopeScaling& scaling);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_ROPE_SCALING_H_
