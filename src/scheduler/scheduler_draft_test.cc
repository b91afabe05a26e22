// Drafts in the scheduler: verified beside their decode, hashed only as far as they were right, and
// never at another sequence's cost.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/scheduler_testing.h"

namespace folio {
namespace {

std::vector<std::int32_t> Alone(std::vector<std::int32_t> tokens, std::int64_t generate) {
  for (std::int64_t i = 0; i < generate; ++i) tokens.push_back(NextToken(tokens));
  return tokens;
}

TEST(SchedulerDraftTest, RightTokensSaveStepsAndWrongOnesChangeNothing) {
  for (const auto& [right, wrong] : {std::pair{0, 0}, {3, 0}, {3, 2}, {0, 4}}) {
    SchedulerRig rig({});
    rig.drafts = [&](const Sequence&) { return SchedulerRig::Draft{right, wrong}; };
    const auto prompt = SchedulerRig::Tokens(10);
    const SequenceId id = rig.Add(prompt, 21);
    int steps = 0;
    while (!rig.scheduler.empty()) {
      rig.Run();
      EXPECT_EQ(rig.Check(), "");
      ++steps;
    }
    EXPECT_EQ(rig.finished[id], Alone(prompt, 21));
    // The prompt's step draws the first token; each of the others right + 1.
    EXPECT_EQ(steps, 1 + (20 + right) / (right + 1)) << right << " " << wrong;
    EXPECT_EQ(rig.cache.pool().num_free(), rig.cache.pool().num_blocks());
  }
}

TEST(SchedulerDraftTest, BlocksAreHashedOnlyWhenTheirTokensAreAccepted) {
  SchedulerRig rig({.block_size = 4});
  rig.drafts = [](const Sequence&) { return SchedulerRig::Draft{.right = 1, .wrong = 6}; };
  const SequenceId id = rig.Add(SchedulerRig::Tokens(6), 30);
  rig.Run();
  const Sequence& sequence = *rig.scheduler.Find(id);
  EXPECT_EQ(sequence.blocks.published, 1);
  EXPECT_EQ(rig.Run().at(0).rows, 8);  // positions 6 to 13: three blocks have rows written
  EXPECT_EQ(sequence.blocks.computed, 8);
  EXPECT_EQ(sequence.blocks.published, 2);
  EXPECT_EQ(rig.cache.pool().stats().cached, 0);
  TokenChain chain = sequence.chain;
  rig.Cancel(id);
  EXPECT_EQ(rig.cache.pool().stats().cached, 2);
  chain.Append(std::vector<std::int32_t>{1, 2, 3, 4}, RowKind::kPrompt);
  EXPECT_EQ(rig.cache.MatchedTokens(chain), 8);
}

TEST(SchedulerDraftTest, ADraftLeavesEveryDecodeItsRow) {
  SchedulerRig rig({.num_blocks = 256}, {.max_batch_tokens = 12});
  for (int i = 0; i < 4; ++i) rig.Add(SchedulerRig::Tokens(3, 10 * i), 20);
  rig.Run();
  rig.drafts = [](const Sequence&) { return SchedulerRig::Draft{.right = 0, .wrong = 30}; };
  const auto step = rig.Run();
  ASSERT_EQ(step.size(), 4U);
  EXPECT_EQ(step[0].draft_rows, 8);
  for (std::size_t i = 1; i < step.size(); ++i) EXPECT_EQ(step[i].rows, 1);
}

// Two sequences of eight tokens fill four blocks; the two left are what their next tokens need.
TEST(SchedulerDraftTest, ADraftTakesNoBlockThatIsScarce) {
  SchedulerRig rig({.block_size = 4, .num_blocks = 6});
  rig.Add(SchedulerRig::Tokens(7), 6);
  rig.Add(SchedulerRig::Tokens(7, 100), 6);
  rig.Run();
  rig.drafts = [](const Sequence&) { return SchedulerRig::Draft{.right = 0, .wrong = 6}; };
  const auto step = rig.Run();
  ASSERT_EQ(step.size(), 2U);
  EXPECT_EQ(step[0].draft_rows, 0);
  EXPECT_EQ(step[1].draft_rows, 0);
  while (!rig.scheduler.empty()) {
    rig.Run();
    EXPECT_EQ(rig.Check(), "");
  }
  EXPECT_EQ(rig.trace.totals(EventType::kPreempted).count, 0U);
}

TEST(SchedulerDraftTest, APreemptedSequenceForgetsItsDraft) {
  SchedulerRig rig({.block_size = 4, .num_blocks = 6});
  rig.drafts = [](const Sequence&) { return SchedulerRig::Draft{.right = 2, .wrong = 2}; };
  const auto a = SchedulerRig::Tokens(7);
  const auto b = SchedulerRig::Tokens(7, 100);
  const SequenceId first = rig.Add(a, 14);
  const SequenceId second = rig.Add(b, 14);
  ASSERT_TRUE(rig.RunAll());
  EXPECT_GT(rig.trace.totals(EventType::kPreempted).count, 0U);
  EXPECT_EQ(rig.finished[first], Alone(a, 14));
  EXPECT_EQ(rig.finished[second], Alone(b, 14));
}

}  // namespace
}  // namespace folio
