#include "model/expert_slots.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

constexpr double kHalfLife = 8;

// Gives the expert a slot, if it has none, and ends its use at once.
ExpertSlots::Given Load(ExpertSlots& slots, std::int32_t expert) {
  const auto given = slots.Give(expert);
  EXPECT_TRUE(given.has_value());
  if (given) slots.EndUse(given->slot);
  return given.value_or(ExpertSlots::Given{});
}

TEST(ExpertSlotsTest, FreeSlotsComeFirstThenTheExpertOfFewestRows) {
  ExpertSlots slots(3, 10, kHalfLife);
  for (const std::int32_t expert : {4, 5, 6}) {
    slots.NoteRows(expert, expert == 5 ? 1 : 2);
    EXPECT_EQ(Load(slots, expert).evicted, -1);
  }
  EXPECT_EQ(slots.filled(), 3);
  slots.NoteRows(7, 1);
  EXPECT_EQ(Load(slots, 7).evicted, 5);
  EXPECT_EQ(slots.SlotOf(5), -1);
  EXPECT_GE(slots.SlotOf(7), 0);
}

TEST(ExpertSlotsTest, RowsLoseHalfTheirValueInAHalfLife) {
  for (const bool later : {false, true}) {
    ExpertSlots slots(2, 3, kHalfLife);
    slots.NoteRows(0, 5);
    Load(slots, 0);
    slots.PassTime(kHalfLife * (later ? 2 : 1));  // worth 2.5, or 1.25
    slots.NoteRows(1, 2);
    Load(slots, 1);
    EXPECT_EQ(Load(slots, 2).evicted, later ? 0 : 1);
  }
}

TEST(ExpertSlotsTest, ScoresKeepTheirOrderHoweverLongItRuns) {
  ExpertSlots slots(2, 3, kHalfLife);
  for (int step = 0; step < 100000; ++step) {
    slots.PassTime(1);
    slots.NoteRows(0, 2);
    slots.NoteRows(1, 1);
  }
  Load(slots, 0);
  Load(slots, 1);
  EXPECT_EQ(Load(slots, 2).evicted, 1);
}

TEST(ExpertSlotsTest, AnExpertThatLeftIsRememberedByItsRows) {
  ExpertSlots slots(1, 3, kHalfLife);
  slots.NoteRows(0, 9);
  Load(slots, 0);
  slots.NoteRows(1, 1);
  EXPECT_EQ(Load(slots, 1).evicted, 0);
  ExpertSlots two(2, 4, kHalfLife);
  two.NoteRows(0, 9);
  for (const std::int32_t expert : {0, 1, 2}) Load(two, expert);  // 1 leaves for 2, not 0
  EXPECT_GE(two.SlotOf(0), 0);
  EXPECT_EQ(two.SlotOf(1), -1);
}

TEST(ExpertSlotsTest, WhereAllAreInUseThereIsNone) {
  ExpertSlots slots(1, 2, kHalfLife);
  const auto given = slots.Give(0);
  ASSERT_TRUE(given.has_value());
  EXPECT_FALSE(slots.Give(1).has_value());
  EXPECT_EQ(slots.SlotOf(1), -1);
  slots.EndUse(given->slot);
  EXPECT_TRUE(slots.Give(1).has_value());
}

TEST(ExpertSlotsTest, AFreedSlotIsNobodys) {
  ExpertSlots slots(2, 3, kHalfLife);
  Load(slots, 0);
  slots.Free(slots.SlotOf(0));
  EXPECT_EQ(slots.SlotOf(0), -1);
  EXPECT_EQ(slots.filled(), 0);
  EXPECT_EQ(Load(slots, 0).evicted, -1);
}

// Any steps: an expert has at most one slot and a slot one expert, no more than there are, those in
// use stay, and who leaves has the lowest score of those who might.
RC_GTEST_PROP(ExpertSlotsProperty, AnyStepsKeepTheSlotsWhole, ()) {
  const auto num_slots = *rc::gen::inRange<std::int64_t>(1, 8);
  const auto experts = *rc::gen::inRange<std::int64_t>(1, 20);
  ExpertSlots slots(num_slots, experts, 1e9);  // no time passes: scores are sums of rows
  std::vector<std::int64_t> rows(static_cast<std::size_t>(experts));
  std::set<std::int32_t> resident;
  std::set<std::int32_t> in_use;
  const auto steps = *rc::gen::inRange(0, 200);
  for (int step = 0; step < steps; ++step) {
    const auto expert = *rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(experts));
    const auto row = static_cast<std::size_t>(expert);
    switch (*rc::gen::inRange(0, 4)) {
      case 0: {
        const auto more = *rc::gen::inRange<std::int64_t>(1, 5);
        slots.NoteRows(expert, more);
        rows[row] += more;
        break;
      }
      case 1:
        if (!resident.contains(expert)) {
          const bool full = static_cast<std::int64_t>(resident.size()) == num_slots;
          const auto given = slots.Give(expert);
          RC_ASSERT(given.has_value() == (!full || in_use.size() < resident.size()));
          if (!given) break;
          RC_ASSERT((given->evicted >= 0) == full);
          if (given->evicted >= 0) {
            RC_ASSERT(resident.contains(given->evicted) && !in_use.contains(given->evicted));
            for (const std::int32_t other : resident) {
              RC_ASSERT(in_use.contains(other) ||
                        rows[static_cast<std::size_t>(other)] >=
                            rows[static_cast<std::size_t>(given->evicted)]);
            }
            resident.erase(given->evicted);
          }
          resident.insert(expert);
          in_use.insert(expert);
        }
        break;
      case 2:
        if (in_use.erase(expert) > 0) slots.EndUse(slots.SlotOf(expert));
        break;
      default:
        if (resident.contains(expert) && in_use.insert(expert).second) {
          slots.Use(slots.SlotOf(expert));
        }
        break;
    }
    std::set<std::int32_t> taken;
    for (std::int32_t each = 0; each < experts; ++each) {
      const std::int32_t slot = slots.SlotOf(each);
      RC_ASSERT((slot >= 0) == resident.contains(each));
      if (slot < 0) continue;
      RC_ASSERT(slot < num_slots);
      RC_ASSERT(taken.insert(slot).second);
    }
    RC_ASSERT(slots.filled() == static_cast<std::int64_t>(resident.size()));
  }
}

}  // namespace
}  // namespace folio
