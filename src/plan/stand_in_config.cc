#include "plan/stand_in_config.h"

#include <algorithm>

namespace folio {
namespace {

constexpr int kHeadDimStep = 32;

int Stepped(int head_dim) { return (head_dim + kHeadDimStep - 1) / kHeadDimStep * kHeadDimStep; }

}  // namespace

ModelConfig StandInConfig(const ModelShape& shape) {
  ModelConfig config;
  config.hidden = shape.hidden;
  config.ffn = shape.ffn;
  config.expert_ffn = shape.expert_ffn;
  config.shared_ffn = shape.shared_ffn;
  config.vocab = shape.vocab;
  config.context_length = shape.context_length;
  config.query_heads = std::max(1, shape.query_heads);
  config.kv_heads = 1;
  config.head_dim = kHeadDimStep;
  const bool latent =
      shape.latent.rank > 0 && shape.latent.rank % kHeadDimStep == 0 && shape.latent.rotary > 0;
  if (latent) config.latent = shape.latent;
  for (const LayerShape& layer : shape.layers) {
    if (layer.kv.kv_heads == 0) continue;
    config.kv_heads = std::max(config.kv_heads, layer.kv.kv_heads);
    config.head_dim =
        std::max(config.head_dim, Stepped(std::max(layer.kv.head_dim, layer.kv.value_dim)));
    config.layers.push_back({.window = layer.kv.window, .experts = shape.experts > 0});
  }
  config.query_heads = std::max(config.query_heads, config.kv_heads);
  if (config.layers.empty()) config.layers.push_back({.experts = shape.experts > 0});
  config.moe_layers = shape.experts > 0 ? config.num_layers() : 0;
  config.router.experts = shape.experts;
  config.router.top_k = shape.top_k;
  config.ropes.push_back(
      {.rotary_dim = latent ? shape.latent.rotary : config.head_dim, .frequency_factors = {}});
  return config;
}

}  // namespace folio
