#include "kvcache/kv_cache_manager.h"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/cache_testing.h"

namespace folio {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kBlock = 4;

// One group that sees everything, blocks of four tokens.
class KvCacheManagerTest : public ::testing::Test {
 protected:
  static KvCacheManager Cache(std::int64_t num_blocks, bool caching = true,
                              Trace* trace = nullptr) {
    return KvCacheManager({KvGroupSpec{}}, kBlock, num_blocks, caching, trace);
  }
  static TokenChain Chain(std::string_view prompt) { return ChainOf(prompt, kBlock); }

  // Computes [computed, tokens) in one chunk, without looking for hits.
  static BlockChanges Compute(KvCacheManager& cache, SequenceBlocks& sequence,
                              const TokenChain& chain, std::int64_t tokens) {
    BlockChanges changes;
    EXPECT_TRUE(cache.Allocate(sequence, tokens - sequence.computed, changes));
    cache.Advance(sequence, chain, tokens);
    return changes;
  }
  // A request that ran and finished.
  static void RunOnce(KvCacheManager& cache, std::string_view prompt) {
    SequenceBlocks sequence = cache.NewSequence(99);
    const TokenChain chain = Chain(prompt);
    cache.TakeHits(sequence, chain);
    Compute(cache, sequence, chain, chain.size());
    cache.Free(sequence);
  }
  static std::string Check(const KvCacheManager& cache,
                           std::vector<const SequenceBlocks*> sequences) {
    return cache.CheckIntegrity(sequences);
  }
};

TEST_F(KvCacheManagerTest, CachedTokensAreWholeBlocksAndTheLastTokenIsComputed) {
  struct Case {
    std::string_view prompt;
    std::int64_t cached;
  };
  for (const auto& [prompt, cached] :
       {Case{"", 0}, Case{"A", 0}, Case{"ABCD", 3}, Case{"ABCDE", 4}, Case{"ABCDEFG", 4},
        Case{"ABCDEFGH", 7}, Case{"ABCDEFGHI", 8}, Case{"ABCDEFGHIJKL", 8}, Case{"ABCX", 0},
        Case{"ABCDXFGH", 4}, Case{"XBCDEFGH", 0}}) {
    KvCacheManager cache = Cache(8);
    RunOnce(cache, "ABCDEFGHIJ");
    const TokenChain chain = Chain(prompt);
    EXPECT_EQ(cache.MatchedTokens(chain), cached) << prompt;
    EXPECT_EQ(cache.pool().num_free(), 8);
    SequenceBlocks sequence = cache.NewSequence(1);
    EXPECT_EQ(cache.TakeHits(sequence, chain), cached) << prompt;
    EXPECT_EQ(sequence.computed, cached);
    EXPECT_EQ(Check(cache, {&sequence}), "");
  }
}

TEST_F(KvCacheManagerTest, AFullHitNeedsNoBlockAndNoWrite) {
  KvCacheManager cache = Cache(2);
  RunOnce(cache, "ABCDEFGH");
  const TokenChain chain = Chain("ABCDEFGH");
  SequenceBlocks sequence = cache.NewSequence(1);
  EXPECT_EQ(cache.TakeHits(sequence, chain), 7);
  EXPECT_EQ(sequence.computed, 7);
  EXPECT_EQ(sequence.stored, 8);
  EXPECT_EQ(cache.pool().num_free(), 0);
  EXPECT_EQ(cache.BlocksNeeded(sequence, 1), 0);
  EXPECT_THAT(Compute(cache, sequence, chain, 8).fresh, IsEmpty());
  EXPECT_EQ(sequence.computed, 8);
  EXPECT_EQ(cache.BlocksNeeded(sequence, 1), 1);
  EXPECT_EQ(Check(cache, {&sequence}), "");
}

TEST_F(KvCacheManagerTest, ABlockIsHittableTheMomentItIsFull) {
  KvCacheManager cache = Cache(8);
  const TokenChain chain = Chain("ABCDEFGHIJKL");
  SequenceBlocks first = cache.NewSequence(1);
  Compute(cache, first, chain, 7);
  EXPECT_EQ(cache.MatchedTokens(chain), 4);
  Compute(cache, first, chain, 8);
  EXPECT_EQ(cache.MatchedTokens(chain), 8);
  SequenceBlocks second = cache.NewSequence(2);
  EXPECT_EQ(cache.TakeHits(second, chain), 8);
  EXPECT_EQ(second.tables, first.tables);
}

TEST_F(KvCacheManagerTest, ARunningPrefillMovesForwardOverWhatAnotherComputed) {
  KvCacheManager cache = Cache(12);
  const TokenChain chain = Chain("ABCDEFGHIJKLMNOP");
  SequenceBlocks slow = cache.NewSequence(1);
  Compute(cache, slow, chain, 6);
  SequenceBlocks fast = cache.NewSequence(2);
  cache.TakeHits(fast, chain);
  Compute(cache, fast, chain, 12);

  // Its own second block, half filled, makes room for the cached one.
  const BlockId own = slow.tables[0][1];
  EXPECT_EQ(cache.TakeHits(slow, chain), 6);
  EXPECT_EQ(slow.computed, 12);
  EXPECT_EQ(slow.tables, fast.tables);
  EXPECT_EQ(cache.pool().block(own).ref_cnt, 0);
  EXPECT_EQ(cache.TakeHits(slow, chain), 0);
  EXPECT_EQ(Check(cache, {&slow, &fast}), "");
}

TEST_F(KvCacheManagerTest, ABlockThatOnlyTheLastTokenWouldUseIsNotTaken) {
  KvCacheManager cache = Cache(4);
  const TokenChain chain = Chain("ABCD");
  SequenceBlocks sequence = cache.NewSequence(1);
  Compute(cache, sequence, chain, 3);
  RunOnce(cache, "ABCD");
  EXPECT_EQ(cache.TakeHits(sequence, chain), 0);
  EXPECT_EQ(sequence.computed, 3);
}

TEST_F(KvCacheManagerTest, TwoThatFillTheSameBlockEndWithOneCopy) {
  KvCacheManager cache = Cache(4);
  const TokenChain chain = Chain("ABCDE");
  SequenceBlocks first = cache.NewSequence(1);
  SequenceBlocks second = cache.NewSequence(2);
  Compute(cache, first, chain, 2);
  Compute(cache, second, chain, 2);
  const BlockId copy = second.tables[0][0];
  Compute(cache, first, chain, 4);
  Compute(cache, second, chain, 4);
  EXPECT_EQ(second.tables, first.tables);
  EXPECT_EQ(cache.pool().block(first.tables[0][0]).ref_cnt, 2);
  EXPECT_EQ(cache.pool().block(copy).ref_cnt, 0);
  EXPECT_EQ(cache.pool().stats().used, 1);
  EXPECT_EQ(Check(cache, {&first, &second}), "");
}

TEST_F(KvCacheManagerTest, HitsAreTakenBeforeAnAllocationCouldEvictThem) {
  KvCacheManager cache = Cache(4);
  RunOnce(cache, "ABCDEFGHIJKLMNOP");
  const TokenChain chain = Chain("ABCDEFGHwxyzWXYZ");
  SequenceBlocks sequence = cache.NewSequence(1);
  cache.TakeHits(sequence, chain);
  const BlockTable hits = sequence.tables[0];
  const BlockChanges changes = Compute(cache, sequence, chain, 16);
  EXPECT_THAT(hits, ElementsAre(0, 1));
  EXPECT_THAT(changes.fresh, ElementsAre(3, 2));
  EXPECT_EQ(cache.MatchedTokens(chain), 15);
}

TEST_F(KvCacheManagerTest, AnAllocationThatDoesNotFitChangesNothing) {
  KvCacheManager cache = Cache(3);
  const TokenChain chain = Chain("ABCDEFGHIJKLMNOP");
  SequenceBlocks sequence = cache.NewSequence(1);
  Compute(cache, sequence, chain, 5);
  const SequenceBlocks before = sequence;
  BlockChanges changes;
  EXPECT_EQ(cache.BlocksNeeded(sequence, 8), 2);
  EXPECT_FALSE(cache.Allocate(sequence, 8, changes));
  EXPECT_THAT(changes.fresh, IsEmpty());
  EXPECT_EQ(sequence.tables, before.tables);
  EXPECT_EQ(cache.pool().num_free(), 1);
  EXPECT_EQ(cache.BlocksNeeded(sequence, 7), 1);
  EXPECT_TRUE(cache.Allocate(sequence, 7, changes));
}

TEST_F(KvCacheManagerTest, RowsThatWereNotAcceptedAreNotPublished) {
  KvCacheManager cache = Cache(4);
  const TokenChain chain = Chain("ABCDEFGHIJ");
  SequenceBlocks sequence = cache.NewSequence(1);
  Compute(cache, sequence, chain, 3);
  BlockChanges changes;
  ASSERT_TRUE(cache.Allocate(sequence, 6, changes));
  cache.Advance(sequence, chain, 5);
  EXPECT_EQ(cache.MatchedTokens(chain), 4);
  EXPECT_EQ(cache.BlocksNeeded(sequence, 5), 0);  // the room is still there
  EXPECT_EQ(Check(cache, {&sequence}), "");
}

TEST_F(KvCacheManagerTest, AForkCopiesTheLastBlockWhenOneOfThemWrites) {
  KvCacheManager cache = Cache(8);
  const TokenChain chain = Chain("ABCDEF");
  SequenceBlocks parent = cache.NewSequence(1);
  Compute(cache, parent, chain, 6);
  SequenceBlocks child = cache.Fork(parent, 2);
  SequenceBlocks other = cache.Fork(parent, 3);
  EXPECT_EQ(cache.pool().stats().used, 2);
  const BlockId last = parent.tables[0][1];

  EXPECT_EQ(cache.BlocksNeeded(child, 1), 1);
  const BlockChanges copied = Compute(cache, child, Chain("ABCDEFx"), 7);
  ASSERT_EQ(copied.copies.size(), 1U);
  EXPECT_EQ(copied.copies[0].from, last);
  EXPECT_EQ(copied.copies[0].to, child.tables[0][1]);
  EXPECT_THAT(copied.fresh, ElementsAre(child.tables[0][1]));
  EXPECT_EQ(child.tables[0][0], parent.tables[0][0]);

  EXPECT_EQ(Compute(cache, parent, Chain("ABCDEFy"), 7).copies.size(), 1U);
  // The last one to write has it alone.
  EXPECT_EQ(cache.BlocksNeeded(other, 1), 0);
  EXPECT_THAT(Compute(cache, other, Chain("ABCDEFz"), 7).copies, IsEmpty());
  EXPECT_EQ(other.tables[0][1], last);
  EXPECT_EQ(Check(cache, {&parent, &child, &other}), "");
}

TEST_F(KvCacheManagerTest, ACopyAndNewBlocksAreCountedTogether) {
  KvCacheManager cache = Cache(8);
  const TokenChain chain = Chain("ABCDEFGHIJKL");
  SequenceBlocks parent = cache.NewSequence(1);
  Compute(cache, parent, chain, 6);
  SequenceBlocks child = cache.Fork(parent, 2);
  EXPECT_EQ(cache.BlocksNeeded(child, 6), 2);
  const std::int64_t free = cache.pool().num_free();
  EXPECT_EQ(Compute(cache, child, chain, 12).fresh.size(), 2U);
  EXPECT_EQ(cache.pool().num_free(), free - 2);
}

TEST_F(KvCacheManagerTest, AForkAtTheEndOfABlockCopiesNothing) {
  KvCacheManager cache = Cache(8);
  const TokenChain chain = Chain("ABCDEFGHI");
  RunOnce(cache, "ABCD");
  SequenceBlocks parent = cache.NewSequence(1);
  EXPECT_EQ(cache.TakeHits(parent, chain), 4);
  Compute(cache, parent, chain, 8);
  SequenceBlocks child = cache.Fork(parent, 2);
  EXPECT_THAT(Compute(cache, child, chain, 9).copies, IsEmpty());
  EXPECT_THAT(Compute(cache, parent, chain, 9).copies, IsEmpty());
  EXPECT_EQ(cache.pool().stats().used, 4);
}

TEST_F(KvCacheManagerTest, AForkDoesNotHoldRoomThatItsParentTookAhead) {
  KvCacheManager cache = Cache(8);
  const TokenChain chain = Chain("ABCDEFGHIJKL");
  SequenceBlocks parent = cache.NewSequence(1);
  Compute(cache, parent, chain, 4);
  BlockChanges changes;
  ASSERT_TRUE(cache.Allocate(parent, 8, changes));
  SequenceBlocks child = cache.Fork(parent, 2);
  EXPECT_EQ(child.tables[0].size(), 1U);
  EXPECT_EQ(cache.BlocksNeeded(parent, 8), 0);
  EXPECT_EQ(Check(cache, {&parent, &child}), "");
}

TEST_F(KvCacheManagerTest, APreemptedRequestResumesFromWhatIsCachedAlsoItsReply) {
  KvCacheManager cache = Cache(4);
  TokenChain chain = Chain("ABCDEF");
  SequenceBlocks sequence = cache.NewSequence(1);
  Compute(cache, sequence, chain, 6);
  for (const std::int32_t token : {'g', 'h', 'i'}) {
    chain.Append(std::vector<std::int32_t>{token}, RowKind::kGenerated);
    Compute(cache, sequence, chain, chain.size());
  }
  chain.Append(std::vector<std::int32_t>{'j'}, RowKind::kGenerated);
  cache.Free(sequence);
  EXPECT_EQ(sequence.computed, 0);
  EXPECT_EQ(cache.pool().num_free(), 4);
  EXPECT_EQ(cache.TakeHits(sequence, chain), 8);
  EXPECT_THAT(Compute(cache, sequence, chain, 10).fresh.size(), 1);
  EXPECT_EQ(Check(cache, {&sequence}), "");
}

TEST_F(KvCacheManagerTest, FreeingGoesFromTheLastBlockToTheFirstOverAllGroups) {
  KvCacheManager cache({KvGroupSpec{}, KvGroupSpec{}}, kBlock, 8, true, nullptr);
  const TokenChain chain = Chain("ABCDEFGHIJ");
  SequenceBlocks sequence = cache.NewSequence(1);
  Compute(cache, sequence, chain, 10);
  const std::vector<BlockTable> t = sequence.tables;
  cache.Free(sequence);
  const std::vector<BlockId> order = cache.pool().FreeOrder();
  // Never hashed ones at the head; then the last index of both groups, and so on.
  EXPECT_THAT(std::vector(order.end() - 4, order.end()),
              ElementsAre(t[0][1], t[1][1], t[0][0], t[1][0]));
  EXPECT_EQ(std::set<BlockId>(order.begin(), order.begin() + 2),
            (std::set<BlockId>{t[0][2], t[1][2]}));
  EXPECT_EQ(sequence.tables, std::vector<BlockTable>(2));
}

TEST_F(KvCacheManagerTest, WithoutCachingNothingIsPublishedOrHit) {
  KvCacheManager cache = Cache(4, false);
  RunOnce(cache, "ABCDEFGH");
  const TokenChain chain = Chain("ABCDEFGH");
  EXPECT_EQ(cache.pool().stats().cached, 0);
  EXPECT_EQ(cache.MatchedTokens(chain), 0);
  SequenceBlocks sequence = cache.NewSequence(1);
  EXPECT_EQ(cache.TakeHits(sequence, chain), 0);
  Compute(cache, sequence, chain, 8);
  EXPECT_EQ(Check(cache, {&sequence}), "");
}

TEST_F(KvCacheManagerTest, AnotherRootSharesNothing) {
  KvCacheManager cache = Cache(4);
  RunOnce(cache, "ABCDEFGH");
  TokenChain salted(std::make_shared<BlockHasher>(), HashOf(1), kBlock, false);
  salted.Append(std::vector<std::int32_t>{'A', 'B', 'C', 'D', 'E'}, RowKind::kPrompt);
  EXPECT_EQ(cache.MatchedTokens(salted), 0);
}

TEST_F(KvCacheManagerTest, AMarkCoversWholeBlocksBeforeItsEnd) {
  KvCacheManager cache = Cache(4);
  const TokenChain chain = Chain("ABCDEFGHIJKLM");
  SequenceBlocks sequence = cache.NewSequence(1);
  sequence.retention = Retention::k5Minutes;
  sequence.retained_tokens = 11;
  Compute(cache, sequence, chain, 13);
  std::vector<Retention> marks;
  for (const BlockId id : sequence.tables[0]) marks.push_back(cache.pool().block(id).retention);
  EXPECT_THAT(marks, ElementsAre(Retention::k5Minutes, Retention::k5Minutes, Retention::kNone,
                                 Retention::kNone));
  cache.Free(sequence);
  EXPECT_THAT(cache.pool().FreeOrder(), ElementsAre(3, 2, 1, 0));
}

TEST_F(KvCacheManagerTest, AMarkedRequestMarksTheBlocksThatItHits) {
  KvCacheManager cache = Cache(4);
  RunOnce(cache, "ABCDEFGH");
  SequenceBlocks sequence = cache.NewSequence(1);
  sequence.retention = Retention::k1Hour;
  sequence.retained_tokens = 4;
  cache.TakeHits(sequence, Chain("ABCDEFGHI"));
  EXPECT_EQ(cache.pool().block(sequence.tables[0][0]).retention, Retention::k1Hour);
  EXPECT_EQ(cache.pool().block(sequence.tables[0][1]).retention, Retention::kNone);
}

TEST_F(KvCacheManagerTest, EventsNameTheRequestTheBlockAndItsIndex) {
  Trace trace(64);
  KvCacheManager cache = Cache(4, true, &trace);
  const TokenChain chain = Chain("ABCDEF");
  SequenceBlocks first = cache.NewSequence(1);
  Compute(cache, first, chain, 6);
  SequenceBlocks second = cache.NewSequence(2);
  cache.TakeHits(second, chain);
  SequenceBlocks third = cache.Fork(first, 3);
  Compute(cache, third, Chain("ABCDEFG"), 7);
  cache.Free(third);
  std::vector<std::tuple<EventType, std::uint64_t, BlockId, std::int64_t>> events;
  for (const Event& e : trace.Events()) events.emplace_back(e.type, e.request, e.block, e.a);
  using enum EventType;
  EXPECT_THAT(events,
              ElementsAre(std::tuple(kBlockAllocated, 1, 0, 0),
                          std::tuple(kBlockAllocated, 1, 1, 0), std::tuple(kPublished, 1, 0, 0),
                          std::tuple(kHit, 2, 0, 0), std::tuple(kBlockAllocated, 3, 2, 0),
                          std::tuple(kCopied, 3, 2, 1), std::tuple(kFreed, 3, 2, 0)));
}

TEST_F(KvCacheManagerTest, OnlyBlocksThatWereGainedAreHits) {
  Trace trace(64);
  KvCacheManager cache = Cache(8, true, &trace);
  const TokenChain chain = Chain("ABCDEFGHIJKL");
  SequenceBlocks slow = cache.NewSequence(1);
  Compute(cache, slow, chain, 6);
  SequenceBlocks fast = cache.NewSequence(2);
  cache.TakeHits(fast, chain);
  Compute(cache, fast, chain, 12);
  EXPECT_EQ(trace.totals(EventType::kHit).count, 1U);
  cache.TakeHits(slow, chain);
  EXPECT_EQ(trace.totals(EventType::kHit).count, 3U);
}

TEST_F(KvCacheManagerTest, TheCheckSeesTablesThatCannotBe) {
  KvCacheManager cache = Cache(8);
  const TokenChain chain = Chain("ABCDEF");
  SequenceBlocks sequence = cache.NewSequence(1);
  Compute(cache, sequence, chain, 6);
  EXPECT_EQ(Check(cache, {&sequence}), "");
  EXPECT_NE(Check(cache, {}), "");                      // held by nobody
  EXPECT_NE(Check(cache, {&sequence, &sequence}), "");  // or by two
  const auto broken = [&](auto change) {
    SequenceBlocks other = sequence;
    change(other);
    return Check(cache, {&other});
  };
  EXPECT_NE(broken([](SequenceBlocks& s) { s.tables[0][0] = kNoBlock; }), "");
  EXPECT_NE(broken([](SequenceBlocks& s) { std::swap(s.tables[0][0], s.tables[0][1]); }), "");
  EXPECT_NE(broken([](SequenceBlocks& s) { s.tables.emplace_back(); }), "");
  EXPECT_NE(broken([](SequenceBlocks& s) { s.published = 0; }), "");
  EXPECT_NE(broken([](SequenceBlocks& s) { s.published = 2; }), "");
  EXPECT_NE(broken([](SequenceBlocks& s) { s.stored = 9; }), "");
  EXPECT_NE(broken([](SequenceBlocks& s) { s.stored = 5; }), "");
}

}  // namespace
}  // namespace folio
