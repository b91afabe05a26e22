// Decoding of several sequences in one step each time, as a server does it.
#ifndef FOLIO_APPS_FOLIO_BENCH_TOGETHER_H_
#define FOLIO_APPS_FOLIO_BENCH_TOGETHER_H_

#include <cstdint>

#include "base/error.h"
#include "engine/loaded_model.h"

namespace folio {

struct TogetherArgs {
  std::int64_t sequences = 1;
  std::int64_t depth = 0;     // tokens of each in the cache before; they share none
  std::int64_t generate = 0;  // steps measured, of one token for each
};

// Tokens a second of all sequences. The model has a pool and rows of logits for so many.
Result<double> DecodeTogether(LoadedModel& model, const TogetherArgs& args);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BENCH_TOGETHER_H_
