#include "model/moe_dispatch.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

std::vector<RoutedExpert> RoutedTo(const std::vector<int>& experts) {
  std::vector<RoutedExpert> routed;
  for (const int expert : experts) routed.push_back({.expert = expert, .weight = 1});
  return routed;
}

std::vector<int> RowsOf(const Dispatch& dispatch, int expert) {
  std::vector<int> rows;
  for (std::int64_t i = 0; i < dispatch.count(expert); ++i)
    rows.push_back(dispatch.row_of(dispatch.first_slot(expert) + i));
  return rows;
}

TEST(DispatchTest, SixTokensGoToFourExpertsInTheirOrder) {
  Dispatch dispatch(4, 1, 6);
  dispatch.Build(RoutedTo({1, 0, 3, 1, 0, 1}));
  EXPECT_EQ(RowsOf(dispatch, 0), (std::vector{1, 4}));
  EXPECT_EQ(RowsOf(dispatch, 1), (std::vector{0, 3, 5}));
  EXPECT_TRUE(RowsOf(dispatch, 2).empty());
  EXPECT_EQ(RowsOf(dispatch, 3), std::vector{2});
  EXPECT_EQ(std::vector(dispatch.busy_experts().begin(), dispatch.busy_experts().end()),
            (std::vector<std::int32_t>{0, 1, 3}));
}

TEST(DispatchTest, NoRowsAreLegal) {
  Dispatch dispatch(4, 2, 6);
  dispatch.Build({});
  EXPECT_EQ(dispatch.slots(), 0);
  EXPECT_TRUE(dispatch.busy_experts().empty());
  for (int expert = 0; expert < 4; ++expert) EXPECT_EQ(dispatch.count(expert), 0);
}

RC_GTEST_PROP(DispatchProperty, EveryChoiceHasItsSlotAndTheWayBack, ()) {
  const int experts = *rc::gen::inRange(1, 40);
  const int top_k = *rc::gen::inRange(1, 5);
  const std::int64_t most_rows = 30;
  Dispatch dispatch(experts, top_k, most_rows);
  for (int build = 0; build < 2; ++build) {
    const std::int64_t rows = *rc::gen::inRange<std::int64_t>(0, most_rows + 1);
    const auto chosen = *rc::gen::container<std::vector<int>>(
        static_cast<std::size_t>(rows * top_k), rc::gen::inRange(0, experts));
    dispatch.Build(RoutedTo(chosen));
    RC_ASSERT(dispatch.slots() == rows * top_k);
    std::vector<bool> seen(chosen.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int choice = 0; choice < top_k; ++choice) {
        const std::int64_t slot = dispatch.slot_of(row, choice);
        const int expert = chosen[static_cast<std::size_t>(row * top_k + choice)];
        RC_ASSERT(slot >= dispatch.first_slot(expert) && slot < dispatch.first_slot(expert + 1));
        RC_ASSERT(dispatch.row_of(slot) == row);
        RC_ASSERT(!seen[static_cast<std::size_t>(slot)]);
        seen[static_cast<std::size_t>(slot)] = true;
      }
    }
    for (int expert = 0; expert < experts; ++expert) {
      const std::vector<int> of_expert = RowsOf(dispatch, expert);
      RC_ASSERT(std::ranges::is_sorted(of_expert));
    }
  }
}

}  // namespace
}  // namespace folio
