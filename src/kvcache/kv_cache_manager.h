// The blocks of sequences: prefix hits, room for new tokens, sharing, copy on write, windows. One
// pool serves every KV group; a sequence has one block table a group. Knows no tensors and no
// model.
#ifndef FOLIO_KVCACHE_KV_CACHE_MANAGER_H_
#define FOLIO_KVCACHE_KV_CACHE_MANAGER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kvcache/block_hash.h"
#include "kvcache/block_pool.h"
#include "kvcache/kv_group_spec.h"
#include "kvcache/token_chain.h"
#include "trace/trace.h"

namespace folio {

// The blocks that a sequence holds.
struct SequenceBlocks {
  std::vector<BlockTable> tables;  // one a group, equally long
  std::uint64_t request = 0;       // for events
  std::int64_t computed = 0;       // positions [0, computed) need no further computing
  // Positions whose keys and values lie in the blocks: computed, or one more after a full hit,
  // whose last token is computed again for its logits and not stored.
  std::int64_t stored = 0;
  std::int64_t published = 0;  // leading blocks that are hashed (or came from the cache)
  Retention retention = Retention::kNone;
  std::int64_t retained_tokens = 0;  // blocks wholly before this position carry the mark
};

struct BlockCopy {
  BlockId from = kNoBlock;
  BlockId to = kNoBlock;
};

// What Allocate did that the owner of the bytes must follow, before the step computes.
struct BlockChanges {
  std::vector<BlockId> fresh;     // handed out: their memory must be there
  std::vector<BlockCopy> copies;  // in order
};

class KvCacheManager {
 public:
  // `caching` off: nothing is published or hit.
  KvCacheManager(std::vector<KvGroupSpec> groups, int block_size, std::int64_t num_blocks,
                 bool caching, Trace* trace);

  BlockPool& pool() { return pool_; }
  const BlockPool& pool() const { return pool_; }
  int block_size() const { return block_size_; }
  bool caching() const { return caching_; }
  int num_groups() const { return static_cast<int>(groups_.size()); }

  SequenceBlocks NewSequence(std::uint64_t request) const;

  // Tokens of the longest prefix of `chain` that could be hit now, at most chain.size() - 1:
  // nothing is taken.
  std::int64_t MatchedTokens(const TokenChain& chain) const;

  // Moves `sequence` forward over blocks of `chain` that are in the cache, from where it stands:
  // references them, before anything is allocated, and drops what it had begun of them itself.
  // At least the chain's last token is left to compute. Returns the tokens gained. O(new blocks).
  // A group with a window needs only the blocks that the next position's window still sees.
  std::int64_t TakeHits(SequenceBlocks& sequence, const TokenChain& chain);

  // Blocks that Allocate(sequence, rows) would take from the pool, copies included.
  std::int64_t BlocksNeeded(const SequenceBlocks& sequence, std::int64_t rows) const;

  // Blocks for positions [computed, computed + rows), copying a shared block that would be written.
  // False, and nothing changed, if the pool has too few.
  bool Allocate(SequenceBlocks& sequence, std::int64_t rows, BlockChanges& changes);

  // The first `tokens` positions are computed and accepted: full blocks become hittable (a block
  // whose content the cache has already is replaced by that one), blocks that left every later
  // window are let go. O(new blocks).
  void Advance(SequenceBlocks& sequence, const TokenChain& chain, std::int64_t tokens);

  // A second sequence with the same content, which holds no other blocks; a block that is not full
  // is copied when one of them writes.
  SequenceBlocks Fork(const SequenceBlocks& sequence, std::uint64_t request);

  // Drops all blocks, last of the chain first; hashed ones stay hittable. The sequence is as new,
  // but keeps its request and its mark.
  void Free(SequenceBlocks& sequence);

  // Blocks that one sequence of `tokens` holds at most, over all groups, if it is computed in
  // chunks of at most `chunk` rows: kv_sizing's BlocksHeldAtMost.
  std::int64_t BlocksForSequence(std::int64_t tokens, std::int64_t chunk) const;

  // See BlockPool; `sequences` are all that exist.
  std::string CheckIntegrity(std::span<const SequenceBlocks* const> sequences) const;

 private:
  std::int64_t FirstSeen(std::size_t group, std::int64_t position) const {
    return FirstSeenBlock(groups_[group], position, block_size_);
  }
  // Entries that the tables have already and that computing up to a position writes.
  struct EntryRange {
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  EntryRange WrittenEntries(const SequenceBlocks& sequence, std::int64_t end_position) const;
  void TakeGroupHits(SequenceBlocks& sequence, const TokenChain& chain, std::size_t group,
                     std::int64_t blocks, std::int64_t position);
  void PublishBlock(SequenceBlocks& sequence, std::size_t group, std::int64_t index,
                    const BlockHash& hash);
  void MarkBlock(const SequenceBlocks& sequence, std::int64_t index, BlockId id);
  void LeaveWindow(BlockTable& table, std::size_t group, std::int64_t from, std::int64_t to);
  void DropEntry(BlockTable& table, std::int64_t index);
  std::string CheckSequence(const SequenceBlocks& sequence) const;

  std::vector<KvGroupSpec> groups_;
  int block_size_;
  bool caching_;
  Trace* trace_;
  BlockPool pool_;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_CACHE_MANAGER_H_
