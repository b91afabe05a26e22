#include "scheduler/waiting_queue.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler_testing.h"

namespace folio {
namespace {

using testing::ElementsAre;

// Hands out sequences of owners, numbered as they come.
class WaitingQueueTest : public testing::Test {
 protected:
  void Add(std::uint64_t owner, std::int64_t tokens) {
    TokenChain chain(hasher_, BlockHash{}, 4, false);
    chain.Append(SchedulerRig::Tokens(tokens), RowKind::kPrompt);
    sequences_.push_back(std::make_unique<Sequence>(sequences_.size() + 1, std::move(chain)));
    sequences_.back()->owner = owner;
    sequences_.back()->rank_ns = static_cast<std::int64_t>(sequences_.size());
    queue_.Insert(*sequences_.back());
  }
  // Runs the next `count`, whole.
  std::vector<SequenceId> Run(int count) {
    std::vector<SequenceId> ran;
    for (int i = 0; i < count && !queue_.empty(); ++i) {
      Sequence& next = *queue_.Next();
      queue_.Erase(next);
      queue_.Charge(next.owner, next.remaining());
      ran.push_back(next.id);
    }
    return ran;
  }

  WaitingQueue queue_;

 private:
  std::shared_ptr<BlockHasher> hasher_ = std::make_shared<BlockHasher>();
  std::vector<std::unique_ptr<Sequence>> sequences_;
};

TEST_F(WaitingQueueTest, OneOwnersComeByRank) {
  for (int i = 0; i < 3; ++i) Add(7, 10);
  EXPECT_THAT(Run(9), ElementsAre(1, 2, 3));
  EXPECT_EQ(queue_.Next(), nullptr);
}

TEST_F(WaitingQueueTest, WhoComesLaterDoesNotWaitForAllOfAnother) {
  for (int i = 0; i < 5; ++i) Add(1, 10);
  EXPECT_THAT(Run(2), ElementsAre(1, 2));
  Add(2, 10);
  Add(2, 10);
  // Equal at first: the older one, then the other owner, who has less by then.
  EXPECT_THAT(Run(9), ElementsAre(3, 6, 4, 7, 5));
}

TEST_F(WaitingQueueTest, ShortOnesOfOneOwnerMakeUpForLongOnesOfAnother) {
  Add(1, 30);
  Add(1, 30);
  for (int i = 0; i < 4; ++i) Add(2, 10);
  EXPECT_THAT(Run(9), ElementsAre(1, 3, 4, 5, 2, 6));
}

TEST_F(WaitingQueueTest, IdleTimesEarnNothing) {
  Add(2, 10);
  EXPECT_THAT(Run(1), ElementsAre(1));
  for (int i = 0; i < 20; ++i) Add(1, 10);
  Run(18);
  for (int i = 0; i < 4; ++i) Add(2, 10);
  EXPECT_THAT(Run(3), ElementsAre(20, 22, 21));
}

TEST_F(WaitingQueueTest, TheOrderThatIsToldIsTheOrderThatComes) {
  for (int i = 0; i < 4; ++i) Add(static_cast<std::uint64_t>(i % 2), 5 + 7 * i);
  for (int i = 0; i < 4; ++i) Add(5, 9);
  std::vector<SequenceId> told;
  for (const Sequence* sequence : queue_.InOrder()) told.push_back(sequence->id);
  EXPECT_EQ(told, Run(99));
  EXPECT_EQ(told.size(), 8U);
}

// Owners who have nothing to do are forgotten, and none of those who wait.
TEST_F(WaitingQueueTest, ManyOwnersComeAndGo) {
  for (std::uint64_t owner = 0; owner < 5000; ++owner) {
    Add(owner, 10);
    if (owner >= 10) Run(1);
  }
  EXPECT_EQ(queue_.size(), 10U);
  EXPECT_EQ(Run(99).size(), 10U);
}

}  // namespace
}  // namespace folio
