#include "kvcache/free_block_queue.h"

#include <algorithm>
#include <list>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace folio {
namespace {

std::vector<KvBlock> Blocks(std::size_t count) {
  std::vector<KvBlock> blocks(count);
  for (std::size_t i = 0; i < count; ++i) blocks[i].block_id = static_cast<BlockId>(i);
  return blocks;
}

TEST(FreeBlockQueueTest, AnEmptyQueueHasNothingToPop) {
  std::vector<KvBlock> blocks = Blocks(1);
  FreeBlockQueue queue(blocks.data());
  EXPECT_EQ(queue.head(), nullptr);
  EXPECT_EQ(queue.PopFront(), nullptr);
  EXPECT_EQ(queue.size(), 0);
}

TEST(FreeBlockQueueTest, ABlockLeavesFromTheMiddle) {
  std::vector<KvBlock> blocks = Blocks(4);
  FreeBlockQueue queue(blocks.data());
  queue.PushBack(blocks[1]);
  queue.PushBack(blocks[2]);
  queue.PushBack(blocks[3]);
  queue.PushFront(blocks[0]);
  queue.Remove(blocks[2]);
  std::vector<BlockId> popped;
  while (const KvBlock* block = queue.PopFront()) popped.push_back(block->block_id);
  EXPECT_EQ(popped, (std::vector<BlockId>{0, 1, 3}));
}

TEST(FreeBlockQueueTest, BehavesAsAList) {
  EXPECT_TRUE(rc::check([] {
    std::vector<KvBlock> blocks = Blocks(8);
    FreeBlockQueue queue(blocks.data());
    std::list<BlockId> model;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(0, 8)));
    for (const auto& [operation, id] : steps) {
      KvBlock& block = blocks[static_cast<std::size_t>(id)];
      const auto at = std::ranges::find(model, id);
      if (operation == 0) {
        const KvBlock* popped = queue.PopFront();
        RC_ASSERT((popped == nullptr) == model.empty());
        if (popped == nullptr) continue;
        RC_ASSERT(popped->block_id == model.front());
        model.pop_front();
      } else if (at != model.end()) {
        queue.Remove(block);
        model.erase(at);
      } else if (operation == 1) {
        queue.PushFront(block);
        model.push_front(id);
      } else {
        queue.PushBack(block);
        model.push_back(id);
      }
      RC_ASSERT(queue.size() == static_cast<std::int64_t>(model.size()));
      RC_ASSERT((queue.head() == nullptr ? kNoBlock : queue.head()->block_id) ==
                (model.empty() ? kNoBlock : model.front()));
    }
  }));
}

}  // namespace
}  // namespace folio
