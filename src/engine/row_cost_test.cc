#include "engine/row_cost.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(RowCostTest, WithoutStepsOfDifferentSizesItIsThePrior) {
  RowCost cost;
  EXPECT_DOUBLE_EQ(cost.RowShare(1), RowCost::kPrior);
  for (int i = 0; i < 50; ++i) cost.Note(1, 20);
  EXPECT_NEAR(cost.RowShare(1), RowCost::kPrior, 1e-9);
}

TEST(RowCostTest, LearnsWhatARowCosts) {
  RowCost cost;
  for (int i = 0; i < 100; ++i) {
    const int rows = 1 + i % 9;
    cost.Note(rows, 20 + 0.5 * rows);
  }
  EXPECT_NEAR(cost.RowShare(1), 0.5 / 20.5, 0.02);
  EXPECT_LT(cost.RowShare(40), cost.RowShare(1));
}

TEST(RowCostTest, FollowsAChange) {
  RowCost cost;
  for (int i = 0; i < 200; ++i) cost.Note(1 + i % 5, 10);
  EXPECT_LT(cost.RowShare(1), 0.05);
  for (int i = 0; i < 200; ++i) cost.Note(1 + i % 5, 10 * (1 + i % 5));
  EXPECT_GT(cost.RowShare(1), 0.5);
}

}  // namespace
}  // namespace folio
