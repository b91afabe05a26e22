// LongRoPE (Ding et al. 2024, "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens") as
// Phi-3 has it: a divisor for every frequency that a search has found, one list for sequences up to
// the original context and one for longer ones, and an attention factor of
//   sqrt(1 + ln(factor) / ln(original context)).
//
// A key must not change its angles once it is cached. So the engine chooses the list once, by the
// longest sequence that it was started for (--context), and not by the length of each sequence.
#ifndef FOLIO_MODEL_POSITIONS_LONGROPE_H_
#define FOLIO_MODEL_POSITIONS_LONGROPE_H_

#include <cstdint>
#include <vector>

#include "model/positions/rope.h"

namespace folio {

struct LongRopeScaling {
  std::vector<float> short_factors;  // [rotary_dim / 2]
  std::vector<float> long_factors;   // [rotary_dim / 2]
  std::int64_t original_context = 0;
  double attention_factor = 1.0;
};

// `factor`: the context over the original one.
double LongRopeAttentionFactor(double factor, std::int64_t original_context);

// For sequences of up to `length` tokens.
Rope MakeRope(const RopeShape& shape, const LongRopeScaling& scaling, std::int64_t length);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_LONGROPE_H_
