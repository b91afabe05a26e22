// Blocks and the queue of those that nobody holds.
#ifndef FOLIO_KVCACHE_FREE_BLOCK_QUEUE_H_
#define FOLIO_KVCACHE_FREE_BLOCK_QUEUE_H_

#include <cstdint>

#include "kvcache/block_hash.h"

namespace folio {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

// How long a cached block is kept before others that nobody marked: by its time to live since it
// was last used. A mark is a hint: it orders eviction and nothing else.
enum class Retention : std::uint8_t { kNone, k5Minutes, k1Hour, k24Hours };
inline constexpr int kRetentions = 4;

// The mark's time to live in nanoseconds; 0 for none.
constexpr std::int64_t RetentionNs(Retention retention) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  constexpr std::int64_t kTimes[kRetentions] = {0, 5 * kMinute, 60 * kMinute, 24 * 60 * kMinute};
  return kTimes[static_cast<int>(retention)];
}

// One block of the pool. It is in a free queue exactly while ref_cnt is 0. One cache line, so that
// an operation on a block of a large pool waits for memory once.
struct alignas(64) KvBlock {
  BlockId block_id = kNoBlock;
  std::int32_t ref_cnt = 0;
  bool hashed = false;  // block_hash and group name its content, and the map has it
  Retention retention = Retention::kNone;
  std::int16_t group = 0;
  BlockId next_in_bucket = kNoBlock;  // the map's chain
  BlockHash block_hash{};
  std::int64_t freed_at_ns = 0;
  BlockId prev_free = kNoBlock;
  BlockId next_free = kNoBlock;
};
static_assert(sizeof(KvBlock) == 64);

// An intrusive doubly linked list, handed out from the head: every operation is O(1), removal from
// the middle included.
class FreeBlockQueue {
 public:
  // `blocks` are the pool's, found by their id, and stay where they are.
  explicit FreeBlockQueue(KvBlock* blocks) : blocks_(blocks) {}

  std::int64_t size() const { return size_; }
  // Both null if empty.
  const KvBlock* head() const { return head_ == kNoBlock ? nullptr : &blocks_[head_]; }
  const KvBlock* tail() const { return tail_ == kNoBlock ? nullptr : &blocks_[tail_]; }

  void PushFront(KvBlock& block);
  void PushBack(KvBlock& block);
  // Null if empty.
  KvBlock* PopFront();
  // `block` must be in the queue.
  void Remove(KvBlock& block);

 private:
  // The link that points at `block`'s neighbour on each side, or this queue's end.
  BlockId& NextOf(BlockId id) { return id == kNoBlock ? head_ : blocks_[id].next_free; }
  BlockId& PrevOf(BlockId id) { return id == kNoBlock ? tail_ : blocks_[id].prev_free; }
  void Insert(KvBlock& block, BlockId prev, BlockId next);

  KvBlock* blocks_;
  BlockId head_ = kNoBlock;
  BlockId tail_ = kNoBlock;
  std::int64_t size_ = 0;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_FREE_BLOCK_QUEUE_H_
