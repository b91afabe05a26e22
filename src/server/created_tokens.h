// What a request's marks created in the cache.
#ifndef FOLIO_SERVER_CREATED_TOKENS_H_
#define FOLIO_SERVER_CREATED_TOKENS_H_

#include <cstdint>
#include <vector>

#include "api/api_request.h"

namespace folio {

// Tokens of whole blocks that a request computed up to its marks, by retention.
struct CreatedTokens {
  std::int64_t five_minutes = 0;
  std::int64_t one_hour = 0;
};
CreatedTokens CreatedUpToMarks(const std::vector<CacheMark>& marks,
                               const std::vector<std::int64_t>& mark_tokens,
                               std::int64_t cached_tokens, int block_size);

}  // namespace folio

#endif  // FOLIO_SERVER_CREATED_TOKENS_H_
