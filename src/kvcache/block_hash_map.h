// From a block's content to the block that holds it.
#ifndef FOLIO_KVCACHE_BLOCK_HASH_MAP_H_
#define FOLIO_KVCACHE_BLOCK_HASH_MAP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kvcache/block_hash.h"
#include "kvcache/free_block_queue.h"

namespace folio {

// Each KV group keeps different layers of the same tokens: the key is the hash and the group.
//
// A chained table through the blocks themselves: at least one bucket for each block, made at
// construction, so that no operation allocates or rehashes. Expected O(1); a chain of n blocks in
// one bucket has to be made by trying about n * num_blocks contents.
class BlockHashToBlockMap {
 public:
  // `blocks` are the pool's, found by their id, and stay where they are.
  explicit BlockHashToBlockMap(std::span<KvBlock> blocks);

  // Bytes of the table for a pool of this size, beside its blocks.
  static std::size_t TableBytes(std::size_t num_blocks);

  // kNoBlock if there is none.
  BlockId Find(const BlockHash& hash, int group) const;
  // Under its block_hash and group, which must not be there.
  void Insert(KvBlock& block);
  // Must be there.
  void Erase(KvBlock& block);
  std::size_t size() const { return size_; }

  // What is wrong: a block in a wrong chain, or not hashed, a chain without an end, a wrong size.
  std::string CheckIntegrity() const;

 private:
  std::size_t Bucket(const BlockHash& hash, int group) const;

  std::span<KvBlock> blocks_;
  std::vector<BlockId> buckets_;  // a power of two of them
  std::size_t size_ = 0;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_BLOCK_HASH_MAP_H_
