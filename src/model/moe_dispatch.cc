#include "model/moe_dispatch.h"

#include <algorithm>

namespace folio {

Dispatch::Dispatch(int experts, int top_k, std::int64_t max_rows)
    : top_k_(top_k),
      first_slot_(static_cast<std::size_t>(experts) + 1),
      next_slot_(static_cast<std::size_t>(experts)) {
  const auto slots = static_cast<std::size_t>(max_rows * top_k);
  row_of_slot_.reserve(slots);
  slot_of_choice_.reserve(slots);
  busy_.reserve(next_slot_.size());
}

std::size_t Dispatch::Bytes(int experts, int top_k, std::int64_t max_rows) {
  const auto slots = static_cast<std::size_t>(max_rows * top_k);
  return (2 * slots + 3 * static_cast<std::size_t>(experts) + 1) * sizeof(std::int32_t);
}

void Dispatch::Build(std::span<const RoutedExpert> routed) {
  std::ranges::fill(first_slot_, 0);
  for (const RoutedExpert& each : routed) ++first_slot_[static_cast<std::size_t>(each.expert) + 1];
  busy_.clear();
  for (std::size_t expert = 0; expert < next_slot_.size(); ++expert) {
    if (first_slot_[expert + 1] > 0) busy_.push_back(static_cast<std::int32_t>(expert));
    first_slot_[expert + 1] += first_slot_[expert];
    next_slot_[expert] = first_slot_[expert];
  }
  row_of_slot_.resize(routed.size());
  slot_of_choice_.resize(routed.size());
  for (std::size_t i = 0; i < routed.size(); ++i) {
    const std::int32_t slot = next_slot_[static_cast<std::size_t>(routed[i].expert)]++;
    row_of_slot_[static_cast<std::size_t>(slot)] =
        static_cast<std::int32_t>(i) / static_cast<std::int32_t>(top_k_);
    slot_of_choice_[i] = slot;
  }
}

}  // namespace folio
