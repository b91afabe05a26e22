// Blocks and the queue of those that nobody holds.
#ifndef FOLIO_KVCACHE_FREE_BLOCK_QUEUE_H_
#define FOLIO_KVCACHE_FREE_BLOCK_QUEUE_H_

#include <cstdint>

namespace folio {

using BlockId = std::int32_t;

// One block of the pool. It is in the free queue exactly while ref_cnt is 0.
struct KvBlock {
  BlockId block_id = -1;
  std::int32_t ref_cnt = 0;
  KvBlock* prev_free = nullptr;
  KvBlock* next_free = nullptr;
};

// An intrusive doubly linked list, handed out from the head: every operation is O(1), removal from
// the middle included.
class FreeBlockQueue {
 public:
  std::int64_t size() const { return size_; }
  const KvBlock* head() const { return head_; }

  void PushBack(KvBlock& block);
  // Null if empty.
  KvBlock* PopFront();
  // `block` must be in the queue.
  void Remove(KvBlock& block);

 private:
  KvBlock* head_ = nullptr;
  KvBlock* tail_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_FREE_BLOCK_QUEUE_H_
