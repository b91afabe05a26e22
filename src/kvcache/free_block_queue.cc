#include "kvcache/free_block_queue.h"

namespace folio {

void FreeBlockQueue::PushBack(KvBlock& block) {
  block.prev_free = tail_;
  block.next_free = nullptr;
  if (tail_ != nullptr) {
    tail_->next_free = &block;
  } else {
    head_ = &block;
  }
  tail_ = &block;
  ++size_;
}

KvBlock* FreeBlockQueue::PopFront() {
  KvBlock* block = head_;
  if (block != nullptr) Remove(*block);
  return block;
}

void FreeBlockQueue::Remove(KvBlock& block) {
  (block.prev_free != nullptr ? block.prev_free->next_free : head_) = block.next_free;
  (block.next_free != nullptr ? block.next_free->prev_free : tail_) = block.prev_free;
  block.prev_free = nullptr;
  block.next_free = nullptr;
  --size_;
}

}  // namespace folio
