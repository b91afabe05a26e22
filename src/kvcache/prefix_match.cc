#include "kvcache/prefix_match.h"

#include <algorithm>

namespace folio {
namespace {

struct Search {
  const BlockPool& pool;
  std::span<const KvGroupSpec> groups;
  const TokenChain& chain;
  int block_size;

  bool Has(std::int64_t block, std::size_t group) const {
    return pool.Lookup(chain.hashes()[static_cast<std::size_t>(block)], static_cast<int>(group)) !=
           kNoBlock;
  }

  std::int64_t Tokens(std::int64_t blocks) const {
    return std::clamp<std::int64_t>(chain.size() - 1, 0, blocks * block_size);
  }

  bool FullGroupsHave(std::int64_t block) const {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].window == 0 && !Has(block, g)) return false;
    }
    return true;
  }

  // With the first `blocks` matched: the last block that a window sees and the cache lacks, in the
  // first group that lacks one; -1 if nothing is missing.
  std::int64_t MissingInWindow(std::int64_t blocks) const {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].window == 0) continue;
      const std::int64_t first = FirstSeenBlock(groups[g], Tokens(blocks), block_size);
      for (std::int64_t block = blocks - 1; block >= first; --block) {
        if (!Has(block, g)) return block;
      }
    }
    return -1;
  }
};

}  // namespace

PrefixMatch FindPrefixMatch(const BlockPool& pool, std::span<const KvGroupSpec> groups,
                            const TokenChain& chain, int block_size, std::int64_t known_blocks) {
  const Search search{pool, groups, chain, block_size};
  const auto full_blocks = static_cast<std::int64_t>(chain.hashes().size());
  std::int64_t blocks = known_blocks;
  while (blocks < full_blocks && search.FullGroupsHave(blocks)) ++blocks;
  // A window that lacks a block is open for every longer match that sees it: go on before it.
  while (blocks > known_blocks) {
    const std::int64_t missing = search.MissingInWindow(blocks);
    if (missing < 0) break;
    blocks = std::max(missing, known_blocks);
  }
  return {.blocks = blocks, .tokens = search.Tokens(blocks)};
}

}  // namespace folio
