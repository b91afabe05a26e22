#include "folio/lab_moe_sizes.h"

namespace folio {

std::int64_t ExpertParameters(const ExpertSizes& sizes) {
  return 3 * sizes.hidden * sizes.expert_ffn;
}

ParameterCount LayerParameters(const ExpertSizes& sizes) {
  const std::int64_t router = sizes.experts * sizes.hidden;
  return {.total = router + sizes.experts * ExpertParameters(sizes),
          .active = router + sizes.top_k * ExpertParameters(sizes)};
}

ParameterCount ModelParameters(const MoeModelSizes& sizes) {
  const std::int64_t hidden = sizes.layer.hidden;
  const std::int64_t attention = 2 * hidden * sizes.head_dim * (sizes.query_heads + sizes.kv_heads);
  const std::int64_t norms = 2 * hidden + (sizes.qk_norm ? 2 * sizes.head_dim : 0);
  const std::int64_t shared =
      2 * sizes.vocab * hidden + hidden + sizes.layers * (attention + norms);
  const ParameterCount layer = LayerParameters(sizes.layer);
  return {.total = shared + sizes.layers * layer.total,
          .active = shared + sizes.layers * layer.active};
}

}  // namespace folio
