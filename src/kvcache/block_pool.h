// The pool of KV blocks: who holds which, and which are free. Knows no tensors and no model.
#ifndef FOLIO_KVCACHE_BLOCK_POOL_H_
#define FOLIO_KVCACHE_BLOCK_POOL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "kvcache/free_block_queue.h"

namespace folio {

// A sequence's logical blocks in order: entry i is the physical block of its tokens [i*block_size,
// (i+1)*block_size).
using BlockTable = std::vector<BlockId>;

class BlockPool {
 public:
  explicit BlockPool(std::int64_t num_blocks);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t num_free() const { return free_.size(); }

  // Appends `count` fresh blocks, each with one reference, to `table`. If fewer are free, nothing
  // changes and the error says how many are needed and free.
  Status Allocate(std::int64_t count, BlockTable& table);

  // Drops the references of the blocks past the first `keep` of `table`, last block first, and cuts
  // the table there.
  void Free(BlockTable& table, std::size_t keep = 0);

  // Every block is free with no reference or held with some; free + held = total; the queue's links
  // agree. Returns what is wrong, or nothing.
  std::string CheckIntegrity() const;

 private:
  std::vector<KvBlock> blocks_;
  FreeBlockQueue free_;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_BLOCK_POOL_H_
