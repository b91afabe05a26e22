// Groups that see a window only: what they hold, what they let go, and what a hit needs of them.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kvcache/cache_testing.h"
#include "kvcache/kv_cache_manager.h"

namespace folio {
namespace {

constexpr int kBlock = 4;
constexpr BlockId kNone = kNoBlock;

std::int64_t Held(const BlockTable& table) {
  return std::ranges::count_if(table, [](BlockId id) { return id != kNoBlock; });
}

std::vector<bool> HeldEntries(const BlockTable& table) {
  std::vector<bool> held;
  for (const BlockId id : table) held.push_back(id != kNoBlock);
  return held;
}

void Compute(KvCacheManager& cache, SequenceBlocks& sequence, const TokenChain& chain,
             std::int64_t tokens, std::int64_t chunk) {
  while (sequence.computed < tokens) {
    const std::int64_t rows = std::min(chunk, tokens - sequence.computed);
    BlockChanges changes;
    ASSERT_TRUE(cache.Allocate(sequence, rows, changes));
    cache.Advance(sequence, chain, sequence.computed + rows);
  }
}

// Group 0 sees everything, group 1 the last `window` positions.
KvCacheManager FullAndWindow(std::int64_t window, std::int64_t num_blocks, bool caching = true) {
  return KvCacheManager({KvGroupSpec{}, KvGroupSpec{.window = window}}, kBlock, num_blocks, caching,
                        nullptr);
}

constexpr std::string_view kPrompt = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";  // 26 tokens, 6 full blocks

TEST(KvCacheWindowTest, FirstSeenBlockIsThatOfTheWindowsFirstPosition) {
  const auto first = [](std::int64_t window, std::int64_t position) {
    return FirstSeenBlock({.window = window}, position, kBlock);
  };
  EXPECT_EQ(first(0, 1000), 0);
  EXPECT_EQ(first(5, 7), 0);  // sees 3 to 7
  EXPECT_EQ(first(5, 8), 1);  // sees 4 to 8
  EXPECT_EQ(first(1, 7), 1);  // sees itself
  EXPECT_EQ(first(100, 7), 0);
}

TEST(KvCacheWindowTest, BlocksThatNoLaterPositionSeesAreReleasedAtOnceAndStayHittable) {
  for (const bool caching : {true, false}) {
    KvCacheManager cache = FullAndWindow(5, 20, caching);
    const TokenChain chain = ChainOf(kPrompt, kBlock);
    SequenceBlocks sequence = cache.NewSequence(1);
    Compute(cache, sequence, chain, 11, 3);  // position 11 sees 7 to 11
    EXPECT_EQ(HeldEntries(sequence.tables[1]), (std::vector<bool>{false, true, true}));
    Compute(cache, sequence, chain, 12, 1);  // position 12 sees 8 to 12
    EXPECT_EQ(HeldEntries(sequence.tables[1]), (std::vector<bool>{false, false, true}));
    EXPECT_EQ(Held(sequence.tables[0]), 3);
    EXPECT_EQ(cache.pool().stats().cached, caching ? 2 : 0);
    const SequenceBlocks* const all[] = {&sequence};
    EXPECT_EQ(cache.CheckIntegrity(all), "");
  }
}

TEST(KvCacheWindowTest, AHitTakesOnlyWhatTheWindowStillSees) {
  KvCacheManager cache = FullAndWindow(5, 20);
  const TokenChain chain = ChainOf(kPrompt, kBlock);
  SequenceBlocks first = cache.NewSequence(1);
  Compute(cache, first, chain, 26, 26);
  cache.Free(first);
  SequenceBlocks second = cache.NewSequence(2);
  EXPECT_EQ(cache.TakeHits(second, chain), 24);  // position 24 sees 20 to 24
  EXPECT_EQ(Held(second.tables[0]), 6);
  EXPECT_EQ(HeldEntries(second.tables[1]),
            (std::vector<bool>{false, false, false, false, false, true}));
  const SequenceBlocks* const all[] = {&first, &second};
  EXPECT_EQ(cache.CheckIntegrity(all), "");
}

TEST(KvCacheWindowTest, AFullHitNeedsWhatItsLastTokenSees) {
  KvCacheManager cache = FullAndWindow(5, 20);
  const TokenChain chain = ChainOf(kPrompt.substr(0, 12), kBlock);
  SequenceBlocks first = cache.NewSequence(1);
  Compute(cache, first, chain, 12, 12);
  cache.Free(first);
  SequenceBlocks second = cache.NewSequence(2);
  EXPECT_EQ(cache.TakeHits(second, chain), 11);  // position 11 sees 7 to 11
  EXPECT_EQ(HeldEntries(second.tables[1]), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(cache.BlocksNeeded(second, 1), 0);
}

// Takes the blocks of the window group out of the cache, but those at the given indices.
void EvictWindowBlocks(KvCacheManager& cache, const TokenChain& chain,
                       const std::vector<std::size_t>& keep) {
  SequenceBlocks holder = cache.NewSequence(50);
  std::vector<BlockId> touched;
  for (std::size_t i = 0; i < chain.hashes().size(); ++i) {
    touched.push_back(cache.pool().Lookup(chain.hashes()[i], 0));
    if (std::ranges::find(keep, i) != keep.end()) {
      touched.push_back(cache.pool().Lookup(chain.hashes()[i], 1));
    }
  }
  for (const BlockId id : touched) cache.pool().Touch(id);
  cache.pool().DropCached();
  for (const BlockId id : touched) cache.pool().Release(id);
}

TEST(KvCacheWindowTest, AMatchEndsWhereTheWindowsBlocksAreStillThere) {
  struct Case {
    std::vector<std::size_t> kept;
    std::int64_t matched;
  };
  // Window 9: the position after block b sees 8 tokens before it, so blocks b - 1 and b.
  for (const auto& [kept, matched] :
       {Case{{}, 0}, Case{{4, 5}, 24}, Case{{5}, 0}, Case{{2, 3}, 16}, Case{{0}, 4},
        Case{{0, 1, 3, 5}, 8}, Case{{1, 2, 4}, 12}, Case{{0, 2, 3, 5}, 16}}) {
    KvCacheManager cache = FullAndWindow(9, 20);
    const TokenChain chain = ChainOf(kPrompt, kBlock);
    SequenceBlocks first = cache.NewSequence(1);
    Compute(cache, first, chain, 26, 26);
    cache.Free(first);
    EvictWindowBlocks(cache, chain, kept);
    EXPECT_EQ(cache.MatchedTokens(chain), matched) << ::testing::PrintToString(kept);
    SequenceBlocks second = cache.NewSequence(2);
    EXPECT_EQ(cache.TakeHits(second, chain), matched);
    const SequenceBlocks* const all[] = {&second};
    EXPECT_EQ(cache.CheckIntegrity(all), "");
  }
}

TEST(KvCacheWindowTest, ARunningPrefillHoldsItsWindowAndTakesTheRest) {
  KvCacheManager cache = FullAndWindow(9, 30);
  const TokenChain chain = ChainOf(kPrompt, kBlock);
  SequenceBlocks fast = cache.NewSequence(1);
  SequenceBlocks slow = cache.NewSequence(2);
  Compute(cache, slow, chain, 14, 5);
  Compute(cache, fast, chain, 26, 26);
  EXPECT_EQ(cache.TakeHits(slow, chain), 10);
  EXPECT_EQ(slow.tables[1],
            (BlockTable{kNone, kNone, kNone, kNone, fast.tables[1][4], fast.tables[1][5]}));
  const SequenceBlocks* const all[] = {&slow, &fast};
  EXPECT_EQ(cache.CheckIntegrity(all), "");
}

TEST(KvCacheWindowTest, AModelOfWindowsAloneHitsWithoutTheChainsStart) {
  KvCacheManager cache({KvGroupSpec{.window = 6}}, kBlock, 4, true, nullptr);
  const TokenChain chain = ChainOf(kPrompt, kBlock);
  SequenceBlocks first = cache.NewSequence(1);
  Compute(cache, first, chain, 26, 2);  // in a pool that never held it whole
  cache.Free(first);
  EXPECT_EQ(cache.pool().Lookup(chain.hashes()[0], 0), kNoBlock);
  EXPECT_EQ(cache.MatchedTokens(chain), 24);
}

TEST(KvCacheWindowTest, AForkHoldsTheWindowOnly) {
  KvCacheManager cache = FullAndWindow(5, 20);
  const TokenChain chain = ChainOf(kPrompt, kBlock);
  SequenceBlocks parent = cache.NewSequence(1);
  Compute(cache, parent, chain, 14, 14);
  SequenceBlocks child = cache.Fork(parent, 2);
  EXPECT_EQ(child.tables, parent.tables);
  BlockChanges changes;
  EXPECT_EQ(cache.BlocksNeeded(child, 1), 2);  // the last block of each group
  ASSERT_TRUE(cache.Allocate(child, 1, changes));
  EXPECT_EQ(changes.copies.size(), 2U);
  cache.Advance(child, chain, 15);
  const SequenceBlocks* const all[] = {&parent, &child};
  EXPECT_EQ(cache.CheckIntegrity(all), "");
}

// What a sequence holds at the worst moment is what the planner was told, and not less for some
// alignment of chunks.
TEST(KvCacheWindowTest, ASequenceHoldsAtMostWhatSizingSaysAndSometimesAsMuch) {
  for (const std::int64_t window : {1, 2, 5, 8, 9}) {
    for (std::int64_t chunk = 1; chunk <= 11; ++chunk) {
      KvCacheManager cache({KvGroupSpec{.window = window}}, kBlock, 60, true, nullptr);
      std::int64_t most = 0;
      for (std::int64_t start = 1; start <= kBlock; ++start) {
        const TokenChain chain = ChainOf(std::string(100, static_cast<char>('a' + start)), kBlock);
        SequenceBlocks sequence = cache.NewSequence(1);
        Compute(cache, sequence, chain, start, 1);
        while (sequence.computed < chain.size()) {
          BlockChanges changes;
          const std::int64_t rows = std::min(chunk, chain.size() - sequence.computed);
          ASSERT_TRUE(cache.Allocate(sequence, rows, changes));
          most = std::max(most, cache.pool().stats().used);
          cache.Advance(sequence, chain, sequence.computed + rows);
        }
        cache.Free(sequence);
      }
      EXPECT_EQ(most, cache.BlocksForSequence(100, chunk)) << window << " " << chunk;
    }
  }
}

TEST(KvCacheWindowTest, AllGroupsTogetherAreWhatASequenceHolds) {
  const KvCacheManager cache = FullAndWindow(9, 1);
  EXPECT_EQ(cache.BlocksForSequence(0, 8), 0);
  EXPECT_EQ(cache.BlocksForSequence(1, 8), 2);
  EXPECT_EQ(cache.BlocksForSequence(8, 8), 4);
  EXPECT_EQ(cache.BlocksForSequence(4000, 8), 1000 + 5);
  EXPECT_EQ(cache.BlocksForSequence(4000, 10000), 1000 + 1000);
}

}  // namespace
}  // namespace folio
