#include "sampling/draft_length.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(DraftLengthTest, CheaperRowsAndLongerMatchesGiveLongerDrafts) {
  DraftLength length;
  EXPECT_GT(length.Choose(20, 0.05, 15), length.Choose(20, 0.3, 15));
  EXPECT_GT(length.Choose(20, 0.1, 15), length.Choose(3, 0.1, 15));
  EXPECT_EQ(length.Choose(20, 0.01, 7), 7);
  EXPECT_EQ(length.Choose(20, 1.0, 15), 0);
  EXPECT_EQ(length.Choose(20, 0.01, 0), 0);
}

TEST(DraftLengthTest, AcceptedDraftsMakeItBolderAndRefusedOnesStopIt) {
  DraftLength length;
  const int at_first = length.Choose(5, 0.15, 15);
  EXPECT_GT(at_first, 0);
  for (int i = 0; i < 10; ++i) length.Note(5, 4, 4);
  EXPECT_GT(length.Choose(5, 0.15, 15), at_first);
  for (int i = 0; i < 30; ++i) length.Note(5, 4, 0);
  EXPECT_EQ(length.Choose(5, 0.15, 15), 0);
  EXPECT_GT(length.Choose(20, 0.15, 15), 0);  // another kind of match
}

// Text with nothing to copy: the share of steps that carry a row in vain.
TEST(DraftLengthTest, DraftsThatAlwaysFailBecomeRareButNotExtinct) {
  for (const double row_cost : {0.05, 0.15, 0.3}) {
    DraftLength length;
    double cost = 0;
    int tried_late = 0;
    constexpr int kSteps = 3000;
    for (int i = 0; i < kSteps; ++i) {
      const int draft = length.Choose(3, row_cost, 15);
      if (draft == 0) continue;
      length.Note(3, draft, 0);
      cost += row_cost * draft;
      if (i > kSteps / 2) ++tried_late;
    }
    EXPECT_LT(cost / kSteps, 0.01) << row_cost;
    // At 0.3 a row costs as much as the prior promises: no draft ever pays.
    if (row_cost < 0.2) {
      EXPECT_GT(tried_late, 0) << row_cost;
    }
  }
}

}  // namespace
}  // namespace folio
