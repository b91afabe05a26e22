// What the tests of the cache share.
#ifndef FOLIO_KVCACHE_CACHE_TESTING_H_
#define FOLIO_KVCACHE_CACHE_TESTING_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kvcache/block_hash.h"
#include "kvcache/block_pool.h"
#include "kvcache/token_chain.h"

namespace folio {

// A hash that names `content`, without hashing.
inline BlockHash HashOf(std::uint8_t content) {
  BlockHash hash;
  hash.fill(content);
  return hash;
}

// A chain of a prompt with one token a character: the examples' "ABCDEFGH".
inline TokenChain ChainOf(std::string_view prompt, int block_size) {
  TokenChain chain(std::make_shared<BlockHasher>(), HashOf(0), block_size, false);
  const std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
  chain.Append(tokens, RowKind::kPrompt);
  return chain;
}

}  // namespace folio

#endif  // FOLIO_KVCACHE_CACHE_TESTING_H_
