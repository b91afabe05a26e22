#include "kvcache/block_pool.h"

namespace folio {

BlockPool::BlockPool(std::int64_t num_blocks) : blocks_(static_cast<std::size_t>(num_blocks)) {
  BlockId id = 0;
  for (KvBlock& block : blocks_) {
    block.block_id = id++;
    free_.PushBack(block);
  }
}

Status BlockPool::Allocate(std::int64_t count, BlockTable& table) {
  if (count > num_free()) {
    return RuntimeError("KV cache", "blocks",
                        std::to_string(count) + " needed, " + std::to_string(num_free()) + " of " +
                            std::to_string(num_blocks()) + " free");
  }
  for (std::int64_t i = 0; i < count; ++i) {
    KvBlock* block = free_.PopFront();
    block->ref_cnt = 1;
    table.push_back(block->block_id);
  }
  return {};
}

void BlockPool::Free(BlockTable& table, std::size_t keep) {
  while (table.size() > keep) {
    KvBlock& block = blocks_[static_cast<std::size_t>(table.back())];
    if (--block.ref_cnt == 0) free_.PushBack(block);
    table.pop_back();
  }
}

std::string BlockPool::CheckIntegrity() const {
  std::vector<bool> queued(blocks_.size(), false);
  std::int64_t length = 0;
  for (const KvBlock* block = free_.head(); block != nullptr; block = block->next_free) {
    if (++length > num_blocks()) return "the free queue has a cycle";
    queued[static_cast<std::size_t>(block->block_id)] = true;
    if (block->next_free != nullptr && block->next_free->prev_free != block) {
      return "block " + std::to_string(block->block_id) + ": its links in the free queue disagree";
    }
  }
  if (length != free_.size()) return "the free queue's size and length differ";
  for (const KvBlock& block : blocks_) {
    if (block.ref_cnt < 0 ||
        (block.ref_cnt == 0) != queued[static_cast<std::size_t>(block.block_id)]) {
      return "block " + std::to_string(block.block_id) + ": ref_cnt " +
             std::to_string(block.ref_cnt) + " disagrees with the free queue";
    }
  }
  return "";
}

}  // namespace folio
