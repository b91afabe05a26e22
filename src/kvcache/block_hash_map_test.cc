#include "kvcache/block_hash_map.h"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kvcache/cache_testing.h"

namespace folio {
namespace {

struct Table {
  explicit Table(std::size_t count) : blocks(count), map(blocks) {
    for (std::size_t i = 0; i < count; ++i) blocks[i].block_id = static_cast<BlockId>(i);
  }
  void Insert(std::size_t id, const BlockHash& hash, int group) {
    blocks[id].block_hash = hash;
    blocks[id].group = static_cast<std::int16_t>(group);
    blocks[id].hashed = true;
    map.Insert(blocks[id]);
  }
  void Erase(std::size_t id) {
    map.Erase(blocks[id]);
    blocks[id].hashed = false;
  }

  std::vector<KvBlock> blocks;
  BlockHashToBlockMap map;
};

// Two names that differ in their last byte only, and so fall into one bucket of any table.
std::pair<BlockHash, BlockHash> SameBucket() {
  std::pair<BlockHash, BlockHash> hashes = {HashOf(1), HashOf(1)};
  hashes.second.back() = 2;
  return hashes;
}

TEST(BlockHashMapTest, FindsAmongBlocksOfOneBucketByTheWholeHash) {
  const auto [a, b] = SameBucket();
  Table table(4);
  table.Insert(0, a, 0);
  EXPECT_EQ(table.map.Find(b, 0), kNoBlock);
  table.Insert(3, b, 0);
  EXPECT_EQ(table.map.Find(a, 0), 0);
  EXPECT_EQ(table.map.Find(b, 0), 3);
  table.Erase(0);
  EXPECT_EQ(table.map.Find(a, 0), kNoBlock);
  EXPECT_EQ(table.map.Find(b, 0), 3);
  EXPECT_EQ(table.map.CheckIntegrity(), "");
}

TEST(BlockHashMapTest, GroupsOfOneHashAreDifferentContents) {
  Table table(4);
  table.Insert(2, HashOf(5), 1);
  EXPECT_EQ(table.map.Find(HashOf(5), 0), kNoBlock);
  table.Insert(1, HashOf(5), 0);
  EXPECT_EQ(table.map.Find(HashOf(5), 0), 1);
  EXPECT_EQ(table.map.Find(HashOf(5), 1), 2);
}

TEST(BlockHashMapTest, ATableForNoBlocksFindsNothing) {
  Table table(0);
  EXPECT_EQ(table.map.Find(HashOf(0), 0), kNoBlock);
}

TEST(BlockHashMapTest, BehavesAsAMap) {
  EXPECT_TRUE(rc::check([] {
    const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 12));
    Table table(count);
    std::map<std::pair<BlockHash, int>, BlockId> model;
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(0, 6), rc::gen::inRange(0, 2)));
    for (const auto& [block, content, group] : steps) {
      BlockHash hash = HashOf(static_cast<std::uint8_t>(content / 3));
      hash.back() = static_cast<std::uint8_t>(content);
      const auto id = static_cast<std::size_t>(block) % count;
      if (table.blocks[id].hashed) {
        model.erase({table.blocks[id].block_hash, table.blocks[id].group});
        table.Erase(id);
      } else if (!model.contains({hash, group})) {
        table.Insert(id, hash, group);
        model[{hash, group}] = static_cast<BlockId>(id);
      }
      const auto found = model.find({hash, group});
      RC_ASSERT(table.map.Find(hash, group) == (found == model.end() ? kNoBlock : found->second));
      RC_ASSERT(table.map.size() == model.size());
      RC_ASSERT(table.map.CheckIntegrity() == "");
    }
  }));
}

TEST(BlockHashMapTest, SeesABlockUnderAnothersHashAndAContentThatIsThereTwice) {
  const auto [a, b] = SameBucket();
  Table table(4);
  table.Insert(0, a, 0);
  table.Insert(1, b, 0);
  table.blocks[1].block_hash = a;
  EXPECT_NE(table.map.CheckIntegrity(), "");
  table.blocks[1].block_hash = HashOf(2);
  EXPECT_NE(table.map.CheckIntegrity(), "");
  table.blocks[1].block_hash = b;
  EXPECT_EQ(table.map.CheckIntegrity(), "");
  table.blocks[0].hashed = false;
  EXPECT_NE(table.map.CheckIntegrity(), "");
  table.blocks[0].hashed = true;
  table.blocks[0].next_in_bucket = 1;
  table.blocks[1].next_in_bucket = 0;
  EXPECT_NE(table.map.CheckIntegrity(), "");
}

}  // namespace
}  // namespace folio
