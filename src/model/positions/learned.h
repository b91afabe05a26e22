// Learned positions (GPT-2, BERT; Gehring et al. 2017): a row of a trained table, one for each
// position, is added to the embedding of the token there. There is nothing past the table's end.
#ifndef FOLIO_MODEL_POSITIONS_LEARNED_H_
#define FOLIO_MODEL_POSITIONS_LEARNED_H_

#include <cstdint>
#include <span>

#include "base/error.h"

namespace folio {

// x += table[position]; `table` is [positions, x.size()]. A position that the table has not is
// refused, and x stays as it is.
Status AddLearnedPosition(std::span<const float> table, std::int64_t position, std::span<float> x);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_LEARNED_H_
