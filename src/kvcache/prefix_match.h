// How much of a sequence's prefix the cache has.
#ifndef FOLIO_KVCACHE_PREFIX_MATCH_H_
#define FOLIO_KVCACHE_PREFIX_MATCH_H_

#include <cstdint>
#include <span>

#include "kvcache/block_pool.h"
#include "kvcache/kv_group_spec.h"
#include "kvcache/token_chain.h"

namespace folio {

struct PrefixMatch {
  std::int64_t blocks = 0;
  // Positions that need no computing: all of these blocks', but the chain's last token is left.
  std::int64_t tokens = 0;
};

// The longest match of `chain`, whose first `known_blocks` are matched already. Groups that see
// everything need every block, a window group those that the first position to be computed sees.
//
// O(known_blocks' successors that all full groups have + the windows). A prefix that full groups
// have while every window in it is lost brings nothing and is walked again by the next call.
PrefixMatch FindPrefixMatch(const BlockPool& pool, std::span<const KvGroupSpec> groups,
                            const TokenChain& chain, int block_size, std::int64_t known_blocks);

}  // namespace folio

#endif  // FOLIO_KVCACHE_PREFIX_MATCH_H_
