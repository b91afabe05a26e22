// Which experts are in memory where not all of them fit: slots with an expert each, found by
// expert, given to whom they are needed for, taken from whom they will be missed least. Knows no
// bytes.
//
// What counts is how many of the latest rows went to an expert: every row that did adds to the
// expert's score, and scores lose half their value every `half_life` rows. That is LRFU (Lee et al.
// 2001), between the least recently and the least frequently used. Recency alone fails here: layers
// follow one another in a circle, so that with fewer slots than a step needs, the slot unused for
// longest is the one that is needed next.
#ifndef FOLIO_MODEL_EXPERT_SLOTS_H_
#define FOLIO_MODEL_EXPERT_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace folio {

class ExpertSlots {
 public:
  // Experts of all layers together are numbered from 0.
  ExpertSlots(std::int64_t slots, std::int64_t experts, double half_life);

  // Bytes that its lists take.
  static std::size_t Bytes(std::int64_t slots, std::int64_t experts);

  std::int64_t slots() const { return static_cast<std::int64_t>(slots_.size()); }
  // Slots that hold an expert.
  std::int64_t filled() const { return slots() - static_cast<std::int64_t>(free_.size()); }

  // The slot of an expert; -1: it has none.
  std::int32_t SlotOf(std::int32_t expert) const {
    return slot_of_[static_cast<std::size_t>(expert)];
  }

  // So many rows went to the expert, whether it has a slot or not.
  void NoteRows(std::int32_t expert, std::int64_t rows);
  // So much of the half-life has passed.
  void PassTime(double rows);

  // An expert in use keeps its slot.
  void Use(std::int32_t slot) { slots_[static_cast<std::size_t>(slot)].in_use = true; }
  void EndUse(std::int32_t slot) { slots_[static_cast<std::size_t>(slot)].in_use = false; }

  struct Given {
    std::int32_t slot = -1;
    std::int32_t evicted = -1;  // who had it before; -1: nobody
  };
  // A slot for an expert that has none, in use from now on: a free one, or that of the lowest
  // score. Nothing if all are in use. O(slots) where none is free.
  std::optional<Given> Give(std::int32_t expert);

  // The slot is free, and its expert has none.
  void Free(std::int32_t slot);

 private:
  struct Slot {
    std::int32_t expert = -1;
    bool in_use = false;
  };

  std::int32_t LeastWanted() const;

  std::vector<Slot> slots_;
  std::vector<std::int32_t> free_;
  std::vector<std::int32_t> slot_of_;  // [experts]
  std::vector<double> scores_;         // [experts]
  double half_life_;
  // What a row adds now: it grows where all scores would have to shrink.
  double row_score_ = 1;
};

}  // namespace folio

#endif  // FOLIO_MODEL_EXPERT_SLOTS_H_
