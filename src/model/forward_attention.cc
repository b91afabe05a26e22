// The attention branch of a layer: projections, what is done to their heads, the cache, attention.
#include <array>

#include "kernels/elementwise.h"
#include "model/add_bias.h"
#include "model/forward.h"

namespace folio {

void Forward::AttentionBranch(const ForwardBatch& batch, std::size_t layer_index) {
  const auto rows = static_cast<std::int64_t>(batch.tokens.size());
  const LayerWeights& layer = weights_->layers[layer_index];
  const LayerConfig& layer_config = config_->layers[layer_index];
  const KvView& kv = kv_[layer_index].view;
  const std::span<const AttentionSequence> sequences =
      batch.groups[static_cast<std::size_t>(kv_[layer_index].group)];
  ProjectHeads(batch, Convert(buffers_.normed, rows, config_->hidden), layer_index);
  StoreKv(options_.isa, kv, sequences, buffers_.k, buffers_.v, *pool_);
  const AttentionParams params{.query_heads = config_->query_heads,
                               .scale = config_->attention_scale,
                               .softcap = config_->attention_softcap,
                               .window = layer_config.window,
                               .sinks = layer.sinks.empty() ? nullptr : layer.sinks.data()};
  Attention(options_.isa, kv, params, sequences, buffers_.q, buffers_.attended,
            {buffers_.attention, buffers_.attention_bytes}, *pool_);
  if (latent_) latent_->Expand(layer.latent, rows, buffers_.attended, buffers_.expanded, *pool_);
  const Activations attended =
      Convert(latent_ ? buffers_.expanded : buffers_.attended, rows, layer.attn_out.k);
  const ProductTarget out{&layer.attn_out, buffers_.branch, config_->hidden};
  Multiply(options_.isa, attended, {&out, 1}, *pool_);
  AddBiasToRows(*pool_, options_.isa, layer.attn_out_bias, rows, buffers_.branch);
}

// Queries and what the cache keeps.
void Forward::ProjectHeads(const ForwardBatch& batch, const Activations& normed,
                           std::size_t layer_index) {
  const LayerWeights& layer = weights_->layers[layer_index];
  if (latent_) {
    latent_->Project(layer, positions_, normed, buffers_.q, buffers_.k, *pool_);
    return;
  }
  const std::array<ProductTarget, 3> qkv = {{{&layer.q, buffers_.q, layer.q.n},
                                             {&layer.k, buffers_.k, layer.k.n},
                                             {&layer.v, buffers_.v, layer.v.n}}};
  Multiply(options_.isa, normed, qkv, *pool_);
  FinishHeads(batch, layer, config_->layers[layer_index].rope);
}

// Bias, per-head norm and rotation of queries and keys: what lies between the QKV product and the
// cache.
void Forward::FinishHeads(const ForwardBatch& batch, const LayerWeights& layer, int rope) {
  const Isa isa = options_.isa;
  const std::int64_t head_dim = config_->head_dim;
  const std::int64_t rotary_dim = config_->ropes[static_cast<std::size_t>(rope)].rotary_dim;
  const auto finish = [&](float* head, const std::vector<float>& norm, std::int64_t row) {
    if (config_->qk_norm) RmsNorm(isa, head, norm.data(), head_dim, config_->norm_eps, head);
    RotateHead(isa, config_->rope_pairs, positions_.cosines(rope, row), positions_.sines(rope, row),
               rotary_dim, head);
  };
  pool_->ParallelFor(static_cast<std::int64_t>(batch.tokens.size()), [&](std::int64_t row, int) {
    float* q = buffers_.q + row * layer.q.n;
    float* k = buffers_.k + row * layer.k.n;
    AddBias(isa, layer.q_bias, q);
    AddBias(isa, layer.k_bias, k);
    AddBias(isa, layer.v_bias, buffers_.v + row * layer.v.n);
    if (config_->qk_norm_whole) {
      RmsNorm(isa, q, layer.q_norm.data(), layer.q.n, config_->norm_eps, q);
      RmsNorm(isa, k, layer.k_norm.data(), layer.k.n, config_->norm_eps, k);
    }
    for (int head = 0; head < config_->query_heads; ++head)
      finish(q + head * head_dim, layer.q_norm, row);
    for (int head = 0; head < config_->kv_heads; ++head)
      finish(k + head * head_dim, layer.k_norm, row);
  });
}

}  // namespace folio
