// The pool checks itself: what must hold between its operations.
#include "kvcache/block_pool.h"

namespace folio {
namespace {

std::string Name(const KvBlock& block) { return "block " + std::to_string(block.block_id); }

}  // namespace

std::string BlockPool::CheckQueue(const FreeBlockQueue& queue, bool hashed, Retention retention,
                                  std::vector<bool>& queued) const {
  std::int64_t length = 0;
  const KvBlock* prev = nullptr;
  for (const KvBlock* block = queue.head(); block != nullptr;) {
    if (block->prev_free != (prev == nullptr ? kNoBlock : prev->block_id)) {
      return Name(*block) + ": its links in the free queue disagree";
    }
    if (queued[static_cast<std::size_t>(block->block_id)]) return Name(*block) + ": queued twice";
    queued[static_cast<std::size_t>(block->block_id)] = true;
    if (block->hashed != hashed || block->retention != retention) {
      return Name(*block) + ": in the free queue of another class";
    }
    if (hashed && prev != nullptr && block->freed_at_ns <= prev->freed_at_ns) {
      return Name(*block) + ": freed before the block ahead of it in the queue";
    }
    ++length;
    prev = block;
    if (block->next_free < kNoBlock || block->next_free >= num_blocks()) {
      return Name(*block) + ": its link in the free queue leads out of the pool";
    }
    block = block->next_free == kNoBlock ? nullptr : &this->block(block->next_free);
  }
  if (prev != queue.tail()) return "a free queue's end is not its last block";
  return length == queue.size() ? "" : "a free queue's size and its length differ";
}

std::string BlockPool::CheckIntegrity() const {
  std::vector<bool> queued(blocks_.size(), false);
  std::string problem = CheckQueue(unhashed_, false, Retention::kNone, queued);
  for (int i = 0; i < kRetentions && problem.empty(); ++i) {
    problem =
        CheckQueue(hashed_[static_cast<std::size_t>(i)], true, static_cast<Retention>(i), queued);
  }
  if (problem.empty()) problem = map_.CheckIntegrity();
  if (!problem.empty()) return problem;

  std::int64_t free = 0;
  std::size_t hashed = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const KvBlock& block = blocks_[i];
    if (block.block_id != static_cast<BlockId>(i)) return Name(block) + ": has another's number";
    if (block.ref_cnt < 0 || (block.ref_cnt == 0) != queued[i]) {
      return Name(block) + ": " + std::to_string(block.ref_cnt) + " references and " +
             (queued[i] ? "" : "not ") + "in a free queue";
    }
    if (!block.hashed && block.retention != Retention::kNone) {
      return Name(block) + ": marked without a hash";
    }
    if (queued[i]) ++free;
    if (block.hashed) ++hashed;
  }
  if (free != num_free_) return "the number of free blocks and the free queues differ";
  // Every entry of the map is hashed and there once: as many entries as hashed blocks are all.
  return hashed == map_.size() ? "" : "a hashed block is not in the hash map";
}

std::string BlockPool::CheckIntegrity(std::span<const BlockTable* const> tables) const {
  std::string problem = CheckIntegrity();
  if (!problem.empty()) return problem;
  std::vector<std::int32_t> references(blocks_.size(), 0);
  for (const BlockTable* table : tables) {
    for (const BlockId id : *table) {
      if (id == kNoBlock) continue;
      if (id < 0 || id >= num_blocks()) {
        return "block " + std::to_string(id) + ": in a table and not in the pool";
      }
      ++references[static_cast<std::size_t>(id)];
    }
  }
  for (const KvBlock& block : blocks_) {
    const std::int32_t held = references[static_cast<std::size_t>(block.block_id)];
    if (held != block.ref_cnt) {
      return Name(block) + ": " + std::to_string(block.ref_cnt) + " references and " +
             std::to_string(held) + " entries in tables";
    }
  }
  return "";
}

}  // namespace folio
