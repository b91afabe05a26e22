#include "scheduler/scheduler.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler_testing.h"

namespace folio {
namespace {

using testing::HasSubstr;

std::int64_t RowsOf(const std::vector<RanChunk>& step, SequenceId id) {
  std::int64_t rows = 0;
  for (const RanChunk& chunk : step) {
    if (chunk.id == id) rows += chunk.rows;
  }
  return rows;
}

TEST(SchedulerTest, PromptsAreCutIntoChunksOfTheBudget) {
  SchedulerRig rig({}, {.max_batch_tokens = 10});
  const SequenceId id = rig.Add(SchedulerRig::Tokens(25), 1);
  EXPECT_EQ(RowsOf(rig.Run(), id), 10);
  EXPECT_EQ(RowsOf(rig.Run(), id), 10);
  const Step last = rig.scheduler.Schedule(0);
  ASSERT_EQ(last.chunks.size(), 1U);
  EXPECT_EQ(last.chunks[0].rows, 5);
  EXPECT_TRUE(last.chunks[0].last);
}

TEST(SchedulerTest, DecodesComeBeforePromptsWhateverTheRank) {
  SchedulerRig rig({}, {.max_batch_tokens = 8});
  const SequenceId talking = rig.Add(SchedulerRig::Tokens(4), 10, /*priority=*/0);
  rig.Run();
  const SequenceId reading = rig.Add(SchedulerRig::Tokens(40, 100), 1, /*priority=*/5);
  const auto step = rig.Run();
  EXPECT_EQ(RowsOf(step, talking), 1);
  EXPECT_EQ(RowsOf(step, reading), 7);
  const auto next = rig.Run();  // both run already
  EXPECT_EQ(RowsOf(next, talking), 1);
  EXPECT_EQ(RowsOf(next, reading), 7);
}

TEST(SchedulerTest, OneOwnersManyRequestsDoNotHoldUpAnothers) {
  SchedulerRig rig({.num_blocks = 256}, {.max_running = 1});
  for (int i = 0; i < 50; ++i) rig.Add(SchedulerRig::Tokens(9, 100 * i), 3, 0, 1, /*owner=*/1);
  rig.Run();
  const SequenceId other = rig.Add(SchedulerRig::Tokens(9, 9000), 3, 0, 1, /*owner=*/2);
  while (!rig.finished.contains(other)) rig.Run();
  EXPECT_LE(rig.finished.size(), 3U);
  EXPECT_TRUE(rig.RunAll());
  EXPECT_EQ(rig.finished.size(), 51U);
}

// Whether a step's budget ends inside the prompt, at its end or far behind it.
TEST(SchedulerTest, EqualPromptsThatArriveTogetherCostOnePrefill) {
  for (const std::int64_t budget : {8, 30, 41, 64, 512}) {
    SchedulerRig rig({.num_blocks = 256}, {.max_batch_tokens = budget});
    const auto prompt = SchedulerRig::Tokens(41);
    for (int i = 0; i < 10; ++i) rig.Add(prompt, 1);
    ASSERT_TRUE(rig.RunAll());
    // Each computes its own last row, whose block is never full.
    EXPECT_EQ(rig.rows_computed, 41 + 9 * 1) << budget;
    EXPECT_EQ(rig.trace.totals(EventType::kChunk).b, rig.rows_computed);
    EXPECT_EQ(rig.trace.totals(EventType::kScheduled).count, 10U);
    EXPECT_EQ(rig.Check(), "");
  }
}

TEST(SchedulerTest, FullHitsComputeOneRow) {
  SchedulerRig rig({}, {.max_batch_tokens = 64});
  rig.Add(SchedulerRig::Tokens(40), 1);
  ASSERT_TRUE(rig.RunAll());
  const std::int64_t used = rig.cache.pool().num_free();
  const SequenceId again = rig.Add(SchedulerRig::Tokens(40), 1);
  const auto step = rig.Run();
  EXPECT_EQ(RowsOf(step, again), 1);
  EXPECT_EQ(step[0].stored_rows, 1);
  EXPECT_TRUE(step[0].changes.fresh.empty());
  EXPECT_EQ(rig.cache.pool().num_free(), used);
}

TEST(SchedulerTest, AWaiterTakesOverFromOneThatIsCancelled) {
  SchedulerRig rig({}, {.max_batch_tokens = 8});
  const SequenceId first = rig.Add(SchedulerRig::Tokens(32), 1);
  const SequenceId second = rig.Add(SchedulerRig::Tokens(32), 1);
  const auto step = rig.Run();
  EXPECT_EQ(RowsOf(step, first), 8);
  EXPECT_EQ(RowsOf(step, second), 0);
  rig.Cancel(first);
  EXPECT_EQ(RowsOf(rig.Run(), second), 8);
  ASSERT_TRUE(rig.RunAll());
  EXPECT_EQ(rig.rows_of[second], 24);  // the first eight rows stayed in the cache
}

TEST(SchedulerTest, ThePriorityDecidesAndTimeMakesUpForIt) {
  SchedulerRig rig({}, {.max_batch_tokens = 8, .max_running = 1, .aging_ns = 5'000'000});
  rig.Add(SchedulerRig::Tokens(4), 20);
  rig.Run();
  const SequenceId low = rig.Add(SchedulerRig::Tokens(4, 200), 1, /*priority=*/0);
  rig.now_ns += 6'000'000;
  const SequenceId high = rig.Add(SchedulerRig::Tokens(4, 300), 1, /*priority=*/1);
  const SequenceId higher = rig.Add(SchedulerRig::Tokens(4, 400), 1, /*priority=*/3);
  std::vector<SequenceId> order;
  for (int i = 0; i < 100 && !rig.scheduler.empty(); ++i) {
    for (const RanChunk& chunk : rig.Run()) {
      if (chunk.first == 0) order.push_back(chunk.id);
    }
  }
  EXPECT_EQ(order, (std::vector<SequenceId>{higher, low, high}));
}

TEST(SchedulerTest, TheWidestPrioritiesKeepTheirOrder) {
  SchedulerRig rig({}, {.max_batch_tokens = 4, .max_running = 1});
  const SequenceId lowest = rig.Add(SchedulerRig::Tokens(4), 1, std::numeric_limits<int>::min());
  const SequenceId plain = rig.Add(SchedulerRig::Tokens(4, 100), 1, 0);
  const SequenceId highest =
      rig.Add(SchedulerRig::Tokens(4, 200), 1, std::numeric_limits<int>::max());
  std::vector<SequenceId> order;
  while (!rig.scheduler.empty()) {
    for (const RanChunk& chunk : rig.Run()) order.push_back(chunk.id);
  }
  EXPECT_EQ(order, (std::vector<SequenceId>{highest, plain, lowest}));
}

TEST(SchedulerTest, TheYoungestIsPreemptedAndResumesFromTheCache) {
  SchedulerRig rig({.num_blocks = 9}, {.max_batch_tokens = 64});
  const SequenceId old = rig.Add(SchedulerRig::Tokens(12), 16);
  const SequenceId young = rig.Add(SchedulerRig::Tokens(12, 100), 12);
  ASSERT_TRUE(rig.RunAll());
  EXPECT_GE(rig.trace.totals(EventType::kPreempted).count, 1U);
  EXPECT_EQ(rig.trace.totals(EventType::kResumed).count,
            rig.trace.totals(EventType::kPreempted).count);
  EXPECT_EQ(rig.finished[old].size(), 28U);
  EXPECT_EQ(rig.finished[young].size(), 24U);
  EXPECT_EQ(rig.rows_of[old], 27);
  EXPECT_EQ(rig.Check(), "");
}

TEST(SchedulerTest, WhatCanNeverFitIsRefusedWithNumbers) {
  SchedulerRig rig({.num_blocks = 8});
  EXPECT_EQ(rig.scheduler.LongestSequence(), 32);
  EXPECT_TRUE(rig.scheduler.CheckRoom(31).has_value());
  const Status refused = rig.scheduler.CheckRoom(32);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().Message(), HasSubstr("9 KV blocks"));
  EXPECT_THAT(refused.error().Message(), HasSubstr("has 8"));
  EXPECT_THAT(refused.error().Message(), HasSubstr("31 tokens"));
  EXPECT_EQ(rig.Add(SchedulerRig::Tokens(32), 1), 0U);
}

TEST(SchedulerTest, AWindowLetsLongerSequencesIn) {
  SchedulerRig full({.groups = {{}, {}}, .num_blocks = 32}, {.max_batch_tokens = 8});
  SchedulerRig windowed({.groups = {{}, {.window = 8}}, .num_blocks = 32}, {.max_batch_tokens = 8});
  EXPECT_EQ(full.scheduler.LongestSequence(), 64);
  EXPECT_GT(windowed.scheduler.LongestSequence(), 100);
  const std::int64_t longest = windowed.scheduler.LongestSequence();
  windowed.Add(SchedulerRig::Tokens(longest - 1), 1);
  EXPECT_TRUE(windowed.RunAll());
  EXPECT_EQ(windowed.trace.totals(EventType::kPreempted).count, 0U);
}

TEST(SchedulerTest, ForksShareTheirPromptAndCopyOnWrite) {
  SchedulerRig rig({}, {.max_batch_tokens = 64});
  rig.Add(SchedulerRig::Tokens(10), 6, /*priority=*/0, /*choices=*/3);
  rig.Run();
  EXPECT_EQ(rig.scheduler.num_running(), 3);
  EXPECT_EQ(rig.cache.pool().num_blocks() - rig.cache.pool().num_free(), 3);
  std::size_t copies = 0;
  for (const RanChunk& chunk : rig.Run()) copies += chunk.changes.copies.size();
  EXPECT_EQ(copies, 2U);  // the last to write has the block for itself
  ASSERT_TRUE(rig.RunAll());
  EXPECT_EQ(rig.finished.size(), 3U);
  EXPECT_EQ(rig.Check(), "");
}

TEST(SchedulerTest, ForksTakeNoMorePlacesThanWereKept) {
  SchedulerRig rig({}, {.max_batch_tokens = 64, .max_running = 4});
  rig.Add(SchedulerRig::Tokens(10), 4, 0, /*choices=*/3);
  rig.Add(SchedulerRig::Tokens(10, 50), 4, 0, /*choices=*/2);
  while (!rig.scheduler.empty()) {
    rig.Run();
    ASSERT_LE(rig.scheduler.num_running(), 4);
  }
  EXPECT_EQ(rig.finished.size(), 5U);
}

TEST(SchedulerTest, ForksRankBehindWhoCameBeforeTheirPrompt) {
  SchedulerRig rig({}, {.max_batch_tokens = 64});
  rig.Run();
  const SequenceId old = rig.Add(SchedulerRig::Tokens(10), 8, 0, /*choices=*/2);
  rig.Run();
  const SequenceId young = rig.Add(SchedulerRig::Tokens(10, 50), 8, 0, /*choices=*/3);
  rig.Run();
  std::vector<SequenceId> order;
  for (const Sequence* sequence : rig.scheduler.running()) order.push_back(sequence->id);
  EXPECT_EQ(order, (std::vector<SequenceId>{old, old + 1, young, young + 1, young + 2}));
}

TEST(SchedulerTest, PlacesThatWereKeptForForksComeBack) {
  SchedulerRig rig({.num_blocks = 256}, {.max_batch_tokens = 8, .max_running = 4});
  const SequenceId cancelled = rig.Add(SchedulerRig::Tokens(40), 4, 0, /*choices=*/4);
  rig.Run();
  rig.Cancel(cancelled);
  rig.Add(SchedulerRig::Tokens(20, 50), 2, 0, /*choices=*/3);
  ASSERT_TRUE(rig.RunAll());
  for (int i = 0; i < 4; ++i) rig.Add(SchedulerRig::Tokens(1, 100 + i), 8);
  rig.Run();
  EXPECT_EQ(rig.scheduler.num_running(), 4);
}

TEST(SchedulerTest, WhoFitsNotNowWaitsAndNobodyIsPreempted) {
  SchedulerRig rig({.num_blocks = 16}, {.max_batch_tokens = 64});
  rig.Add(SchedulerRig::Tokens(40), 8);
  const SequenceId second = rig.Add(SchedulerRig::Tokens(40, 100), 8);
  rig.Run();
  EXPECT_EQ(rig.scheduler.num_running(), 1);
  EXPECT_EQ(rig.scheduler.num_waiting(), 1);
  ASSERT_TRUE(rig.RunAll());
  EXPECT_EQ(rig.finished[second].size(), 48U);
  EXPECT_EQ(rig.trace.totals(EventType::kPreempted).count, 0U);
}

// Every try takes hits and gives them up again.
TEST(SchedulerTest, WhoFitsNotNowIsTriedAgainOnceMoreIsFree) {
  SchedulerRig rig({.num_blocks = 24}, {.max_batch_tokens = 64});
  rig.Add(SchedulerRig::Tokens(20), 1);
  ASSERT_TRUE(rig.RunAll());
  rig.Add(SchedulerRig::Tokens(50, 100), 12);
  rig.Run();
  auto prompt = SchedulerRig::Tokens(20);
  const auto tail = SchedulerRig::Tokens(40, 200);
  prompt.insert(prompt.end(), tail.begin(), tail.end());
  const SequenceId waiting = rig.Add(prompt, 1);
  for (int i = 0; i < 5; ++i) rig.Run();
  EXPECT_EQ(rig.scheduler.num_waiting(), 1);
  EXPECT_EQ(rig.trace.totals(EventType::kHit).count, 5U);
  ASSERT_TRUE(rig.RunAll());
  EXPECT_EQ(rig.rows_of[waiting], 40);
}

TEST(SchedulerTest, AMarkOutlastsTheWaitForRoom) {
  SchedulerRig rig({.num_blocks = 16}, {.max_batch_tokens = 64});
  rig.Add(SchedulerRig::Tokens(40), 8);
  rig.Run();
  const SequenceId marked = rig.Add(SchedulerRig::Tokens(40, 100), 8);
  SequenceBlocks& blocks = rig.scheduler.Find(marked)->blocks;
  blocks.retention = Retention::k1Hour;
  blocks.retained_tokens = 40;
  rig.Run();
  ASSERT_EQ(rig.scheduler.num_waiting(), 1);
  ASSERT_TRUE(rig.RunAll());
  int kept = 0;
  for (BlockId id = 0; id < rig.cache.pool().num_blocks(); ++id) {
    kept += static_cast<int>(rig.cache.pool().block(id).retention == Retention::k1Hour);
  }
  EXPECT_EQ(kept, 10);
}

TEST(SchedulerTest, WithoutACacheNobodyWaitsForAnother) {
  SchedulerRig rig({.caching = false}, {.max_batch_tokens = 64});
  rig.Add(SchedulerRig::Tokens(16), 1);
  rig.Add(SchedulerRig::Tokens(16), 1);
  rig.Run();
  EXPECT_EQ(rig.rows_computed, 32);
  EXPECT_EQ(rig.trace.totals(EventType::kSharedInFlight).count, 0U);
}

}  // namespace
}  // namespace folio
