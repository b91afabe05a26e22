// Capacity factors, as Switch Transformers trains with them (Fedus et al. 2021, 2.2): an expert
// takes so many tokens of a batch and no more. Of the lab alone: what is dropped depends on a
// token's neighbours, so serving never does it.
#ifndef FOLIO_APPS_FOLIO_LAB_MOE_CAPACITY_H_
#define FOLIO_APPS_FOLIO_LAB_MOE_CAPACITY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/moe_router.h"

namespace folio {

// Tokens that an expert takes: factor * tokens / experts, rounded up.
std::int64_t ExpertCapacity(double factor, std::int64_t tokens, int experts);

// For each token whether its expert still had a place for it, first come, first served.
// chosen: [tokens], one expert each.
std::vector<bool> WithinCapacity(std::span<const RoutedExpert> chosen, int experts,
                                 std::int64_t capacity);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_MOE_CAPACITY_H_
