#include "model/expert_slots.h"

#include <cmath>

namespace folio {
namespace {

// A row's score may grow so far before all scores are scaled down, far from any overflow.
constexpr double kMostRowScore = 0x1p500;

}  // namespace

ExpertSlots::ExpertSlots(std::int64_t slots, std::int64_t experts, double half_life)
    : slots_(static_cast<std::size_t>(slots)),
      slot_of_(static_cast<std::size_t>(experts), -1),
      scores_(static_cast<std::size_t>(experts)),
      half_life_(half_life) {
  free_.reserve(slots_.size());
  for (std::int64_t slot = slots; slot-- > 0;) free_.push_back(static_cast<std::int32_t>(slot));
}

std::size_t ExpertSlots::Bytes(std::int64_t slots, std::int64_t experts) {
  return static_cast<std::size_t>(slots) * (sizeof(Slot) + sizeof(std::int32_t)) +
         static_cast<std::size_t>(experts) * (sizeof(std::int32_t) + sizeof(double));
}

void ExpertSlots::NoteRows(std::int32_t expert, std::int64_t rows) {
  scores_[static_cast<std::size_t>(expert)] += row_score_ * static_cast<double>(rows);
}

void ExpertSlots::PassTime(double rows) {
  row_score_ *= std::exp2(rows / half_life_);
  if (row_score_ <= kMostRowScore) return;
  for (double& score : scores_) score /= row_score_;
  row_score_ = 1;
}

std::optional<ExpertSlots::Given> ExpertSlots::Give(std::int32_t expert) {
  Given given;
  if (!free_.empty()) {
    given.slot = free_.back();
    free_.pop_back();
  } else {
    given.slot = LeastWanted();
    if (given.slot < 0) return std::nullopt;
    given.evicted = slots_[static_cast<std::size_t>(given.slot)].expert;
    slot_of_[static_cast<std::size_t>(given.evicted)] = -1;
  }
  slots_[static_cast<std::size_t>(given.slot)] = {.expert = expert, .in_use = true};
  slot_of_[static_cast<std::size_t>(expert)] = given.slot;
  return given;
}

std::int32_t ExpertSlots::LeastWanted() const {
  std::int32_t least = -1;
  double least_score = 0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].in_use) continue;
    const double score = scores_[static_cast<std::size_t>(slots_[slot].expert)];
    if (least >= 0 && score >= least_score) continue;
    least = static_cast<std::int32_t>(slot);
    least_score = score;
  }
  return least;
}

void ExpertSlots::Free(std::int32_t slot) {
  Slot& freed = slots_[static_cast<std::size_t>(slot)];
  slot_of_[static_cast<std::size_t>(freed.expert)] = -1;
  freed = {};
  free_.push_back(slot);
}

}  // namespace folio
