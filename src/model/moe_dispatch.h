// Dispatch: the rows of a step regrouped by the expert that they go to, and the way back for the
// combine step (Shazeer et al. 2017; Fedus et al. 2021, figure 2). Order is part of the result:
// experts ascending, rows ascending within an expert.
#ifndef FOLIO_MODEL_MOE_DISPATCH_H_
#define FOLIO_MODEL_MOE_DISPATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/moe_router.h"

namespace folio {

class Dispatch {
 public:
  // Reserves for `max_rows` rows of top_k experts each.
  Dispatch(int experts, int top_k, std::int64_t max_rows);

  // Of memory that it takes.
  static std::size_t Bytes(int experts, int top_k, std::int64_t max_rows);

  // routed: [rows, top_k]. A counting sort: O(rows * top_k + experts), no allocation.
  void Build(std::span<const RoutedExpert> routed);

  std::int64_t rows() const { return slots() / top_k_; }
  // Every row has top_k slots; an expert's slots lie side by side.
  std::int64_t slots() const { return static_cast<std::int64_t>(row_of_slot_.size()); }
  std::int64_t first_slot(int expert) const {
    return first_slot_[static_cast<std::size_t>(expert)];
  }
  std::int64_t count(int expert) const { return first_slot(expert + 1) - first_slot(expert); }
  std::int32_t row_of(std::int64_t slot) const {
    return row_of_slot_[static_cast<std::size_t>(slot)];
  }
  // Where the row's choice `choice` (0: its best) is computed.
  std::int32_t slot_of(std::int64_t row, int choice) const {
    return slot_of_choice_[static_cast<std::size_t>(row * top_k_ + choice)];
  }
  // Experts with at least one row, ascending.
  std::span<const std::int32_t> busy_experts() const { return busy_; }

 private:
  int top_k_;
  std::vector<std::int32_t> first_slot_;  // [experts + 1]
  std::vector<std::int32_t> next_slot_;   // [experts]
  std::vector<std::int32_t> row_of_slot_;
  std::vector<std::int32_t> slot_of_choice_;  // [rows, top_k]
  std::vector<std::int32_t> busy_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_MOE_DISPATCH_H_
