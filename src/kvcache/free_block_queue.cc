#include "kvcache/free_block_queue.h"

namespace folio {

void FreeBlockQueue::Insert(KvBlock& block, BlockId prev, BlockId next) {
  block.prev_free = prev;
  block.next_free = next;
  NextOf(prev) = block.block_id;
  PrevOf(next) = block.block_id;
  ++size_;
}

void FreeBlockQueue::PushFront(KvBlock& block) { Insert(block, kNoBlock, head_); }

void FreeBlockQueue::PushBack(KvBlock& block) { Insert(block, tail_, kNoBlock); }

KvBlock* FreeBlockQueue::PopFront() {
  if (head_ == kNoBlock) return nullptr;
  KvBlock& block = blocks_[head_];
  Remove(block);
  return &block;
}

void FreeBlockQueue::Remove(KvBlock& block) {
  NextOf(block.prev_free) = block.next_free;
  PrevOf(block.next_free) = block.prev_free;
  block.prev_free = kNoBlock;
  block.next_free = kNoBlock;
  --size_;
}

}  // namespace folio
