#include "kvcache/block_pool.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace folio {
namespace {

TEST(BlockPoolTest, BlocksAreHandedOutInOrderAndComeBackLastFirst) {
  BlockPool pool(4);
  BlockTable table;
  ASSERT_TRUE(pool.Allocate(3, table).has_value());
  EXPECT_EQ(table, (BlockTable{0, 1, 2}));
  pool.Free(table);
  ASSERT_TRUE(pool.Allocate(4, table).has_value());
  EXPECT_EQ(table, (BlockTable{3, 2, 1, 0}));
}

TEST(BlockPoolTest, AnAllocationThatDoesNotFitChangesNothingAndSaysBothNumbers) {
  BlockPool pool(2);
  BlockTable table;
  const Status status = pool.Allocate(3, table);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().Message(), "KV cache: blocks: 3 needed, 2 of 2 free");
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(pool.num_free(), 2);
}

TEST(BlockPoolTest, FreeKeepsTheFirstBlocks) {
  BlockPool pool(4);
  BlockTable table;
  ASSERT_TRUE(pool.Allocate(4, table).has_value());
  pool.Free(table, 1);
  EXPECT_EQ(table, (BlockTable{0}));
  EXPECT_EQ(pool.num_free(), 3);
}

TEST(BlockPoolTest, RandomUseKeepsThePoolWhole) {
  const bool ok = rc::check([] {
    const int num_blocks = *rc::gen::inRange(1, 40);
    BlockPool pool(num_blocks);
    std::vector<BlockTable> tables(3);
    const auto operations = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3000));
    for (const int operation : operations) {
      BlockTable& table = tables[static_cast<std::size_t>(operation % 3)];
      const int amount = operation / 6;
      if ((operation / 3) % 2 == 0) {
        const bool fits = amount <= pool.num_free();
        RC_ASSERT(pool.Allocate(amount, table).has_value() == fits);
      } else {
        pool.Free(table, static_cast<std::size_t>(amount));
      }
      RC_ASSERT(pool.CheckIntegrity().empty());
      std::set<BlockId> held;
      std::size_t total = 0;
      for (const BlockTable& each : tables) {
        held.insert(each.begin(), each.end());
        total += each.size();
      }
      RC_ASSERT(held.size() == total);  // no block in two tables
      RC_ASSERT(static_cast<std::int64_t>(total) + pool.num_free() == num_blocks);
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace folio
