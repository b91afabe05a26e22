// The largest logit of each run of a vocabulary: most of it is then passed over without a look at
// its tokens.
#ifndef FOLIO_SAMPLING_BLOCK_MAXIMA_H_
#define FOLIO_SAMPLING_BLOCK_MAXIMA_H_

#include <cstddef>
#include <span>
#include <vector>

namespace folio {

inline constexpr std::size_t kLogitsInBlock = 64;

// maxima[i] becomes the largest of logits [64 i, 64 (i + 1)), the last block may be shorter. False
// if a logit is NaN or +infinity; the maxima mean nothing then.
bool BlockMaxima(std::span<const float> logits, std::vector<float>& maxima);

}  // namespace folio

#endif  // FOLIO_SAMPLING_BLOCK_MAXIMA_H_
