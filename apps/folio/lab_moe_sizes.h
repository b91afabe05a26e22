// Parameters of a Mixture-of-Experts model: all of them, and those that one token meets.
#ifndef FOLIO_APPS_FOLIO_LAB_MOE_SIZES_H_
#define FOLIO_APPS_FOLIO_LAB_MOE_SIZES_H_

#include <cstdint>

namespace folio {

struct ExpertSizes {
  std::int64_t hidden = 0;
  std::int64_t expert_ffn = 0;
  int experts = 0;
  int top_k = 0;
};

struct ParameterCount {
  std::int64_t total = 0;
  std::int64_t active = 0;  // of one token: the embedding counts as a whole, as papers do
};

// Gate, up and down.
std::int64_t ExpertParameters(const ExpertSizes& sizes);
// Of one layer: the router, and the experts.
ParameterCount LayerParameters(const ExpertSizes& sizes);

// A decoder whose every layer has experts, grouped-query attention without biases, two norms, and
// an output matrix of its own.
struct MoeModelSizes {
  ExpertSizes layer;
  std::int64_t layers = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab = 0;
  bool qk_norm = false;  // of each query and key head
};

ParameterCount ModelParameters(const MoeModelSizes& sizes);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_MOE_SIZES_H_
