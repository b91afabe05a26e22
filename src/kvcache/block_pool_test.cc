#include "kvcache/block_pool.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/cache_testing.h"

namespace folio {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;

std::vector<BlockId> AllocateAll(BlockPool& pool) {
  std::vector<BlockId> ids;
  for (BlockId id = pool.Allocate(0); id != kNoBlock; id = pool.Allocate(0)) ids.push_back(id);
  return ids;
}

// A pool whose blocks are all held and named by their own number, and a way to free some.
class FullPool {
 public:
  explicit FullPool(int num_blocks) : pool(num_blocks) {
    for (const BlockId id : AllocateAll(pool)) {
      pool.Publish(id, HashOf(static_cast<std::uint8_t>(id)), 0);
    }
  }
  void ReleaseAt(std::int64_t time, BlockId id, Retention retention = Retention::kNone) {
    pool.SetTime(time);
    if (retention != Retention::kNone) pool.Mark(id, retention);
    pool.Release(id);
  }
  std::vector<BlockId> OrderAt(std::int64_t time) {
    pool.SetTime(time);
    return pool.FreeOrder();
  }

  BlockPool pool;
};

TEST(BlockPoolTest, BlocksAreHandedOutInOrderUntilThereAreNone) {
  BlockPool pool(3);
  EXPECT_THAT(AllocateAll(pool), ElementsAre(0, 1, 2));
  EXPECT_EQ(pool.num_free(), 0);
  EXPECT_EQ(pool.stats().used, 3);
  EXPECT_EQ(BlockPool(0).Allocate(0), kNoBlock);
}

TEST(BlockPoolTest, ABlockWithoutAHashIsUsedAgainBeforeOneThatWasNeverUsed) {
  BlockPool pool(3);
  EXPECT_EQ(pool.Allocate(0), 0);
  EXPECT_EQ(pool.Allocate(0), 1);
  pool.Release(0);
  EXPECT_THAT(pool.FreeOrder(), ElementsAre(0, 2));
}

TEST(BlockPoolTest, AFreedBlockStaysHittableUntilItIsHandedOut) {
  BlockPool pool(2);
  const BlockId id = pool.Allocate(0);
  EXPECT_EQ(pool.Publish(id, HashOf(1), 0), id);
  pool.Release(id);
  EXPECT_EQ(pool.stats().cached, 1);
  EXPECT_EQ(pool.Allocate(0), 1);
  EXPECT_EQ(pool.Lookup(HashOf(1), 0), id);
  EXPECT_EQ(pool.Allocate(0), id);
  EXPECT_EQ(pool.Lookup(HashOf(1), 0), kNoBlock);
  EXPECT_FALSE(pool.block(id).hashed);
}

TEST(BlockPoolTest, AHitLeavesTheQueueAndIsNotEvicted) {
  FullPool full(2);
  full.ReleaseAt(0, 0);
  full.ReleaseAt(0, 1);
  full.pool.Touch(0);
  EXPECT_EQ(full.pool.num_free(), 1);
  EXPECT_EQ(full.pool.Allocate(0), 1);
  EXPECT_EQ(full.pool.Allocate(0), kNoBlock);
  EXPECT_EQ(full.pool.Lookup(HashOf(0), 0), 0);
}

TEST(BlockPoolTest, ABlockIsFreeOnlyWhenItsLastUserLetsItGo) {
  BlockPool pool(1);
  pool.Allocate(0);
  pool.Touch(0);
  pool.Release(0);
  EXPECT_EQ(pool.num_free(), 0);
  pool.Release(0);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockPoolTest, PublishingAContentTwiceReturnsTheFirstBlock) {
  BlockPool pool(2);
  pool.Allocate(0);
  pool.Allocate(0);
  EXPECT_EQ(pool.Publish(0, HashOf(1), 0), 0);
  EXPECT_EQ(pool.Publish(1, HashOf(1), 0), 0);
  EXPECT_FALSE(pool.block(1).hashed);
  EXPECT_EQ(pool.block(0).ref_cnt, 1);
  EXPECT_EQ(pool.Publish(1, HashOf(1), 1), 1);  // another group's content
}

TEST(BlockPoolTest, UnmarkedBlocksGoOldestFreedFirstAlsoWithinOneStep) {
  FullPool full(4);
  full.ReleaseAt(5, 2);
  full.ReleaseAt(5, 0);
  full.ReleaseAt(5, 3);
  EXPECT_THAT(full.pool.FreeOrder(), ElementsAre(2, 0, 3));
  full.pool.Touch(2);
  full.ReleaseAt(5, 2);
  EXPECT_THAT(full.pool.FreeOrder(), ElementsAre(0, 3, 2));
}

TEST(BlockPoolTest, MarkedBlocksGoLastTheSoonestToExpireFirst) {
  FullPool full(4);
  full.ReleaseAt(0, 0, Retention::k1Hour);               // until 60 min
  full.ReleaseAt(1 * kMinute, 1, Retention::k5Minutes);  // until 6 min
  full.ReleaseAt(2 * kMinute, 2, Retention::k24Hours);
  full.ReleaseAt(3 * kMinute, 3);
  EXPECT_THAT(full.OrderAt(3 * kMinute), ElementsAre(3, 1, 0, 2));
}

TEST(BlockPoolTest, AnExpiredMarkCountsAsNone) {
  FullPool full(4);
  full.ReleaseAt(0, 0, Retention::k5Minutes);
  full.ReleaseAt(1 * kMinute, 1);
  full.ReleaseAt(2 * kMinute, 2, Retention::k1Hour);
  EXPECT_THAT(full.OrderAt(5 * kMinute - 1), ElementsAre(1, 0, 2));
  EXPECT_THAT(full.OrderAt(5 * kMinute), ElementsAre(0, 1, 2));
  EXPECT_THAT(full.OrderAt(62 * kMinute), ElementsAre(0, 1, 2));
}

TEST(BlockPoolTest, TheTimeToLiveStartsWhenTheLastUserLetsGo) {
  FullPool full(2);
  full.pool.Touch(0);
  full.ReleaseAt(0, 0, Retention::k5Minutes);
  full.ReleaseAt(0, 1);
  full.ReleaseAt(60 * kMinute, 0);
  EXPECT_THAT(full.OrderAt(64 * kMinute), ElementsAre(1, 0));
  full.pool.Touch(0);  // used again, by a request without a mark
  full.ReleaseAt(64 * kMinute, 0);
  full.pool.Touch(1);
  full.ReleaseAt(68 * kMinute, 1);
  EXPECT_THAT(full.pool.FreeOrder(), ElementsAre(1, 0));
}

TEST(BlockPoolTest, AnExpiredMarkIsGoneAfterTheNextUse) {
  FullPool full(2);
  full.ReleaseAt(0, 0, Retention::k5Minutes);
  full.pool.SetTime(5 * kMinute);
  full.pool.Touch(0);
  EXPECT_EQ(full.pool.block(0).retention, Retention::kNone);
  full.ReleaseAt(5 * kMinute, 0);
  full.ReleaseAt(5 * kMinute, 1);
  EXPECT_THAT(full.pool.FreeOrder(), ElementsAre(0, 1));
}

TEST(BlockPoolTest, OfTwoMarksTheLongerCounts) {
  FullPool full(1);
  full.pool.Mark(0, Retention::k1Hour);
  full.pool.Mark(0, Retention::k5Minutes);
  EXPECT_EQ(full.pool.block(0).retention, Retention::k1Hour);
  full.pool.Mark(0, Retention::k24Hours);
  EXPECT_EQ(full.pool.block(0).retention, Retention::k24Hours);
}

TEST(BlockPoolTest, MarkingAFreeBlockIsAUse) {
  FullPool full(3);
  full.ReleaseAt(0, 0, Retention::k1Hour);
  full.ReleaseAt(0, 1);
  full.ReleaseAt(0, 2, Retention::k5Minutes);
  full.pool.SetTime(61 * kMinute);
  full.pool.Mark(0, Retention::k5Minutes);  // its hour is over
  full.pool.Mark(1, Retention::k5Minutes);
  EXPECT_EQ(full.pool.block(0).retention, Retention::k5Minutes);
  EXPECT_THAT(full.pool.FreeOrder(), ElementsAre(2, 0, 1));
  EXPECT_EQ(full.pool.CheckIntegrity(), "");
}

TEST(BlockPoolTest, AMarkNeverMakesAnAllocationFail) {
  FullPool full(3);
  for (const BlockId id : {0, 1, 2}) full.ReleaseAt(0, id, Retention::k24Hours);
  EXPECT_THAT(AllocateAll(full.pool), ElementsAre(0, 1, 2));
}

TEST(BlockPoolTest, TimeDoesNotGoBack) {
  FullPool full(2);
  full.ReleaseAt(10 * kMinute, 0, Retention::k5Minutes);
  full.ReleaseAt(0, 1, Retention::k5Minutes);
  EXPECT_THAT(full.pool.FreeOrder(), ElementsAre(0, 1));
  EXPECT_EQ(full.pool.CheckIntegrity(), "");
}

TEST(BlockPoolTest, DroppingTheCacheForgetsFreeBlocksAndTheirMarksOnly) {
  FullPool full(4);
  full.ReleaseAt(0, 1, Retention::k1Hour);
  full.ReleaseAt(0, 2);
  EXPECT_EQ(full.pool.DropCached(), 2);
  EXPECT_EQ(full.pool.stats().cached, 0);
  EXPECT_EQ(full.pool.stats().free, 2);
  EXPECT_EQ(full.pool.Lookup(HashOf(1), 0), kNoBlock);
  EXPECT_EQ(full.pool.Lookup(HashOf(0), 0), 0);
  EXPECT_EQ(full.pool.CheckIntegrity(), "");
  EXPECT_EQ(full.pool.DropCached(), 0);
}

TEST(BlockPoolTest, EventsTellWhatHappenedToEachBlock) {
  Trace trace(16);
  BlockPool pool(1, &trace);
  pool.SetRequest(7);
  pool.Allocate(3);
  pool.Publish(0, HashOf(1), 3);
  pool.Release(0);
  pool.SetRequest(8);
  pool.Allocate(2);
  pool.Release(0);
  std::vector<std::tuple<EventType, std::uint64_t, int, std::int64_t>> events;
  for (const Event& e : trace.Events()) {
    EXPECT_EQ(e.block, 0);
    events.emplace_back(e.type, e.request, e.group, e.a);
  }
  using enum EventType;
  EXPECT_THAT(events,
              ElementsAre(std::tuple(kBlockAllocated, 7, 3, 0), std::tuple(kFreed, 7, 3, 1),
                          std::tuple(kEvicted, 8, 3, 0), std::tuple(kBlockAllocated, 8, 2, 0),
                          std::tuple(kFreed, 8, 2, 0)));
}

TEST(BlockPoolTest, MetadataBytesAreWhatAPoolTakes) {
  // A cache line a block, and a power of two of 4-byte buckets.
  EXPECT_EQ(BlockPool::MetadataBytes(1000), 64U * 1000 + 4U * 1024);
  EXPECT_EQ(BlockPool::MetadataBytes(1024), 64U * 1024 + 4U * 1024);
}

}  // namespace
}  // namespace folio
