#include "server/created_tokens.h"

#include <algorithm>

namespace folio {
namespace {

std::int64_t WholeBlocks(std::int64_t tokens, int block_size) {
  return tokens / block_size * block_size;
}

}  // namespace

CreatedTokens CreatedUpToMarks(const std::vector<CacheMark>& marks,
                               const std::vector<std::int64_t>& mark_tokens,
                               std::int64_t cached_tokens, int block_size) {
  std::int64_t five_minutes = 0;
  std::int64_t one_hour = 0;
  for (std::size_t i = 0; i < marks.size() && i < mark_tokens.size(); ++i) {
    const std::int64_t end = WholeBlocks(mark_tokens[i], block_size);
    const bool is_short = marks[i].retention == CacheRetention::k5Minutes;
    std::int64_t& last = is_short ? five_minutes : one_hour;
    last = std::max(last, end);
  }
  const std::int64_t cached = WholeBlocks(cached_tokens, block_size);
  const std::int64_t hour = std::max<std::int64_t>(0, one_hour - cached);
  return {.five_minutes = std::max<std::int64_t>(0, five_minutes - std::max(cached, one_hour)),
          .one_hour = hour};
}

}  // namespace folio
