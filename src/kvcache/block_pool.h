// The pool of KV blocks: who holds which, which are free, and which can be hit. Knows no tensors
// and no model. Every operation is O(1) in the pool's size, and none allocates memory.
//
// Order in which free blocks are handed out: those without a hash, the last one freed first (its
// memory is there already); then, oldest freed first, those with a hash whose mark (Retention) is
// none or has expired; then marked ones, the soonest to expire first. A hashed block keeps its hash
// until it is handed out (evicted).
#ifndef FOLIO_KVCACHE_BLOCK_POOL_H_
#define FOLIO_KVCACHE_BLOCK_POOL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kvcache/block_hash_map.h"
#include "kvcache/free_block_queue.h"
#include "trace/trace.h"

namespace folio {

// A sequence's logical blocks in order: entry i is the physical block of its tokens [i*block_size,
// (i+1)*block_size), or kNoBlock where a window group let it go or never had it.
using BlockTable = std::vector<BlockId>;

struct BlockPoolStats {
  std::int64_t total = 0;
  std::int64_t used = 0;    // ref_cnt > 0
  std::int64_t cached = 0;  // free and hittable
  std::int64_t free = 0;    // free and without a hash; used + cached + free = total
};

class BlockPool {
 public:
  // `trace` may be null and must outlive the pool. num_blocks < 2^31.
  explicit BlockPool(std::int64_t num_blocks, Trace* trace = nullptr);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Bytes that a pool of this size takes for itself, for the memory plan.
  static std::size_t MetadataBytes(std::int64_t num_blocks);

  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  // Blocks that Allocate can hand out, hittable ones included.
  std::int64_t num_free() const { return num_free_; }
  BlockPoolStats stats() const;
  const KvBlock& block(BlockId id) const { return blocks_[static_cast<std::size_t>(id)]; }

  // The clock that marks expire by; it doesn't go back. Events of this request follow.
  void SetTime(std::int64_t now_ns) { now_ns_ = std::max(now_ns_, now_ns); }
  void SetRequest(std::uint64_t request) { request_ = request; }

  // A block with one reference and no hash, evicting its old content; kNoBlock if none is free.
  BlockId Allocate(int group);

  // The block that holds this content, or kNoBlock.
  BlockId Lookup(const BlockHash& hash, int group) const { return map_.Find(hash, group); }

  // One more reference; a free block leaves its queue. A mark that had expired is gone.
  void Touch(BlockId id);

  // `id` (held, without a hash) is full and named by `hash`. If another block has that content
  // already, nothing is published and that block is returned, untouched; else `id`.
  BlockId Publish(BlockId id, const BlockHash& hash, int group);

  // Marks a hashed block; the longer of its live mark and `retention` counts. For a free block this
  // is a use: its time to live starts now.
  void Mark(BlockId id, Retention retention);

  // One reference less; at none, the block goes to the queue of its class, and the time to live of
  // its mark starts.
  void Release(BlockId id);

  // Forgets every hash of free blocks, and unmarks them. Returns how many. O(that many).
  std::int64_t DropCached();

  // Everything that must hold, or what is wrong: every block is free or referenced, free + used =
  // total, queues and links agree, the map names exactly the hashed blocks. With `tables`, ref
  // counts also equal the tables' entries. O(pool).
  std::string CheckIntegrity() const;
  std::string CheckIntegrity(std::span<const BlockTable* const> tables) const;

  // The free blocks in the order in which Allocate would hand them out if no time passed. O(pool).
  std::vector<BlockId> FreeOrder() const;

 private:
  using QueueHeads = std::array<const KvBlock*, kRetentions>;

  KvBlock& Block(BlockId id) { return blocks_[static_cast<std::size_t>(id)]; }
  FreeBlockQueue& QueueOf(const KvBlock& block);
  bool MarkIsLive(const KvBlock& free_block) const;
  // Of the heads of hashed_ (null: empty), the one to hand out first; -1 if all are null.
  int NextClass(const QueueHeads& heads) const;
  QueueHeads HashedHeads() const;
  KvBlock* PopFree();
  void Enqueue(KvBlock& block);
  void ForgetHash(KvBlock& block);
  void EmitBlockEvent(EventType type, const KvBlock& block, std::int64_t a = 0);
  std::string CheckQueue(const FreeBlockQueue& queue, bool hashed, Retention retention,
                         std::vector<bool>& queued) const;

  std::vector<KvBlock> blocks_;
  BlockHashToBlockMap map_;
  FreeBlockQueue unhashed_;
  std::array<FreeBlockQueue, kRetentions> hashed_;  // each by freed_at_ns
  std::int64_t num_free_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t last_freed_ns_ = -1;
  std::uint64_t request_ = 0;
  Trace* trace_ = nullptr;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_BLOCK_POOL_H_
