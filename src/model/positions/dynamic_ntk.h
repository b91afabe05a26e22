// NTK-aware scaling with a factor that follows the sequence ("dynamic" in Hugging Face
// transformers; bloc97 and emozilla, 2023): past the trained length the base grows, so that the
// slowest hand is interpolated and the fastest turns as it did:
//   base' = base * (factor * length / trained - (factor - 1))^(d / (d - 2)), length >= trained.
//
// The engine does not offer it: with every token past the trained length all angles change, those
// of keys that are already cached too. A token's key would depend on the length of the sequence
// that it was computed in, so no two requests could share a prefix and a hit would not have the
// bits of a miss.
#ifndef FOLIO_MODEL_POSITIONS_DYNAMIC_NTK_H_
#define FOLIO_MODEL_POSITIONS_DYNAMIC_NTK_H_

#include <cstdint>

#include "model/positions/rope.h"

namespace folio {

struct DynamicNtkScaling {
  double factor = 1.0;
  std::int64_t trained_length = 0;
};

// Of a sequence of `length` tokens; rotary_dim above 2.
Rope MakeRope(const RopeShape& shape, const DynamicNtkScaling& scaling, std::int64_t length);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_DYNAMIC_NTK_H_
