#include "kvcache/block_pool.h"

namespace folio {

BlockPool::BlockPool(std::int64_t num_blocks, Trace* trace)
    : blocks_(static_cast<std::size_t>(num_blocks)),
      map_(blocks_),
      unhashed_(blocks_.data()),
      hashed_{FreeBlockQueue(blocks_.data()), FreeBlockQueue(blocks_.data()),
              FreeBlockQueue(blocks_.data()), FreeBlockQueue(blocks_.data())},
      num_free_(num_blocks),
      trace_(trace) {
  BlockId id = 0;
  for (KvBlock& block : blocks_) {
    block.block_id = id++;
    unhashed_.PushBack(block);
  }
}

std::size_t BlockPool::MetadataBytes(std::int64_t num_blocks) {
  const auto blocks = static_cast<std::size_t>(num_blocks);
  return blocks * sizeof(KvBlock) + BlockHashToBlockMap::TableBytes(blocks);
}

BlockPoolStats BlockPool::stats() const {
  BlockPoolStats stats{.total = num_blocks(), .used = num_blocks() - num_free_};
  for (const FreeBlockQueue& queue : hashed_) stats.cached += queue.size();
  stats.free = unhashed_.size();
  return stats;
}

BlockId BlockPool::Allocate(int group) {
  KvBlock* block = PopFree();
  if (block == nullptr) return kNoBlock;
  --num_free_;
  if (block->hashed) {
    EmitBlockEvent(EventType::kEvicted, *block);
    ForgetHash(*block);
  }
  block->ref_cnt = 1;
  block->group = static_cast<std::int16_t>(group);
  EmitBlockEvent(EventType::kBlockAllocated, *block);
  return block->block_id;
}

void BlockPool::Touch(BlockId id) {
  KvBlock& block = Block(id);
  if (block.ref_cnt == 0) {
    QueueOf(block).Remove(block);
    --num_free_;
    if (!MarkIsLive(block)) block.retention = Retention::kNone;
  }
  ++block.ref_cnt;
}

BlockId BlockPool::Publish(BlockId id, const BlockHash& hash, int group) {
  const BlockId other = map_.Find(hash, group);
  if (other != kNoBlock) return other;
  KvBlock& block = Block(id);
  block.block_hash = hash;
  block.group = static_cast<std::int16_t>(group);
  block.hashed = true;
  map_.Insert(block);
  return id;
}

void BlockPool::Mark(BlockId id, Retention retention) {
  KvBlock& block = Block(id);
  const bool free = block.ref_cnt == 0;
  if (free) {
    QueueOf(block).Remove(block);
    if (!MarkIsLive(block)) block.retention = Retention::kNone;
  }
  block.retention = std::max(block.retention, retention);
  if (free) Enqueue(block);
}

void BlockPool::Release(BlockId id) {
  KvBlock& block = Block(id);
  if (--block.ref_cnt != 0) return;
  Enqueue(block);
  ++num_free_;
  EmitBlockEvent(EventType::kFreed, block, block.hashed ? 1 : 0);
}

std::int64_t BlockPool::DropCached() {
  std::int64_t dropped = 0;
  for (FreeBlockQueue& queue : hashed_) {
    while (KvBlock* block = queue.PopFront()) {
      EmitBlockEvent(EventType::kEvicted, *block, 1);
      ForgetHash(*block);
      unhashed_.PushFront(*block);
      ++dropped;
    }
  }
  return dropped;
}

FreeBlockQueue& BlockPool::QueueOf(const KvBlock& block) {
  return block.hashed ? hashed_[static_cast<std::size_t>(block.retention)] : unhashed_;
}

bool BlockPool::MarkIsLive(const KvBlock& free_block) const {
  return now_ns_ < free_block.freed_at_ns + RetentionNs(free_block.retention);
}

// In each queue the head was freed first, and so expires first: four heads tell everything.
int BlockPool::NextClass(const QueueHeads& heads) const {
  int oldest = -1;
  int soonest = -1;
  std::int64_t oldest_freed = 0;
  std::int64_t soonest_expiry = 0;
  for (int i = 0; i < kRetentions; ++i) {
    const KvBlock* head = heads[static_cast<std::size_t>(i)];
    if (head == nullptr) continue;
    if (head->retention == Retention::kNone || !MarkIsLive(*head)) {
      if (oldest >= 0 && oldest_freed <= head->freed_at_ns) continue;
      oldest = i;
      oldest_freed = head->freed_at_ns;
    } else {
      const std::int64_t expiry = head->freed_at_ns + RetentionNs(head->retention);
      if (soonest >= 0 && soonest_expiry <= expiry) continue;
      soonest = i;
      soonest_expiry = expiry;
    }
  }
  return oldest >= 0 ? oldest : soonest;
}

BlockPool::QueueHeads BlockPool::HashedHeads() const {
  QueueHeads heads{};
  for (std::size_t i = 0; i < heads.size(); ++i) heads[i] = hashed_[i].head();
  return heads;
}

KvBlock* BlockPool::PopFree() {
  if (KvBlock* block = unhashed_.PopFront()) return block;
  const int next = NextClass(HashedHeads());
  return next < 0 ? nullptr : hashed_[static_cast<std::size_t>(next)].PopFront();
}

void BlockPool::Enqueue(KvBlock& block) {
  // No two at the same time: the order between queues is the order of freeing, also inside a step.
  last_freed_ns_ = std::max(now_ns_, last_freed_ns_ + 1);
  block.freed_at_ns = last_freed_ns_;
  if (block.hashed) {
    QueueOf(block).PushBack(block);
  } else {
    unhashed_.PushFront(block);
  }
}

void BlockPool::ForgetHash(KvBlock& block) {
  map_.Erase(block);
  block.hashed = false;
  block.retention = Retention::kNone;
}

void BlockPool::EmitBlockEvent(EventType type, const KvBlock& block, std::int64_t a) {
  if (trace_ == nullptr) return;
  trace_->Emit(
      {.request = request_, .a = a, .block = block.block_id, .group = block.group, .type = type});
}

std::vector<BlockId> BlockPool::FreeOrder() const {
  std::vector<BlockId> order;
  order.reserve(static_cast<std::size_t>(num_free_));
  const auto next = [this](const KvBlock& block) {
    return block.next_free == kNoBlock ? nullptr : &this->block(block.next_free);
  };
  for (const KvBlock* block = unhashed_.head(); block != nullptr; block = next(*block)) {
    order.push_back(block->block_id);
  }
  QueueHeads heads = HashedHeads();
  for (int i = NextClass(heads); i >= 0; i = NextClass(heads)) {
    const KvBlock*& head = heads[static_cast<std::size_t>(i)];
    order.push_back(head->block_id);
    head = next(*head);
  }
  return order;
}

}  // namespace folio
