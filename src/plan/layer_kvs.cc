#include "plan/layer_kvs.h"

#include <cstdint>

namespace folio {

std::vector<LayerKv> LayerKvs(const KvLayout& layout, const ModelConfig& config, std::byte* base) {
  std::vector<LayerKv> layers;
  for (const KvLayerLayout& layer : layout.layers) {
    layers.push_back({.view = {.base = base,
                               .block_stride = static_cast<std::int64_t>(layout.block_bytes),
                               .layer_offset = static_cast<std::int64_t>(layer.offset),
                               .head_stride = static_cast<std::int64_t>(layer.head_stride),
                               .v_offset = static_cast<std::int64_t>(layer.v_offset),
                               .block_size = layout.block_size,
                               .kv_heads = config.kv_heads,
                               .head_dim = config.head_dim,
                               .latent_dim = static_cast<int>(config.latent.rank),
                               .type = layout.type},
                      .group = layer.group});
  }
  return layers;
}

}  // namespace folio
