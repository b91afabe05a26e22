#include "model/forward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/elementwise.h"
#include "kernels/exp.h"
#include "model/workspace_carver.h"

namespace folio {
namespace {

constexpr std::int64_t kRowsPerTask = 4;
constexpr std::int64_t kColumnsPerTask = 2048;

// The most workspace that any call can use: that of the longest one, since more rows and later
// positions never need less.
std::size_t MostAttentionBytes(const KvView& kv, const ModelConfig& config, std::int64_t window,
                               const ForwardOptions& options, int threads) {
  const AttentionParams params{
      .query_heads = config.query_heads, .scale = config.attention_scale, .window = window};
  const AttentionSequence longest{
      .block_table = nullptr,
      .first_position = std::max<std::int64_t>(0, options.max_context - options.max_rows),
      .first_row = 0,
      .rows = options.max_rows};
  return AttentionWorkspaceBytes(kv, params, std::span(&longest, 1), threads);
}

void AddRows(ThreadPool& pool, Isa isa, float scale, const float* x, std::int64_t rows,
             std::int64_t n, float* y) {
  pool.ParallelFor((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t first = task * kRowsPerTask;
    const std::int64_t count = std::min(kRowsPerTask, rows - first);
    if (scale == 1.0F) {
      AddInPlace(isa, x + first * n, count * n, y + first * n);
    } else {
      MulAddInPlace(isa, scale, x + first * n, count * n, y + first * n);
    }
  });
}

// The widest network that all rows go through, experts not counted.
std::int64_t DenseWidth(const ModelConfig& config) {
  const bool dense =
      std::ranges::any_of(config.layers, [](const LayerConfig& layer) { return !layer.experts; });
  return std::max(dense ? config.ffn : 0, config.shared_ffn);
}

void AddBias(Isa isa, const std::vector<float>& bias, float* row) {
  if (!bias.empty()) AddInPlace(isa, bias.data(), static_cast<std::int64_t>(bias.size()), row);
}

}  // namespace

Forward::Forward(const ModelConfig& config, ModelWeights& weights, std::vector<LayerKv> kv,
                 const ForwardOptions& options, ThreadPool& pool)
    : config_(&config),
      weights_(&weights),
      kv_(std::move(kv)),
      options_(options),
      pool_(&pool),
      positions_(config, options.max_rows, options.max_context) {}

Forward::Buffers Forward::LayOut(const ModelConfig& config, const std::vector<LayerKv>& kv,
                                 const ForwardOptions& options, int threads, std::byte* base) {
  const std::int64_t rows = options.max_rows;
  const std::int64_t q_dim = std::int64_t{config.query_heads} * config.head_dim;
  const std::int64_t kv_dim = std::int64_t{config.kv_heads} * config.head_dim;
  WorkspaceCarver carve(base);
  Buffers b;
  b.x = carve.Floats(rows, config.hidden);
  b.normed = carve.Floats(rows, config.hidden);
  b.q = carve.Floats(rows, q_dim);
  b.k = carve.Floats(rows, kv_dim);
  b.v = carve.Floats(rows, kv_dim);
  b.attended = carve.Floats(rows, q_dim);
  b.branch = carve.Floats(rows, config.hidden);
  const std::int64_t ffn = DenseWidth(config);
  b.gate = carve.Floats(rows, ffn);
  b.up = carve.Floats(rows, ffn);
  b.packed = carve.Bytes(ActivationBytes(rows, std::max({config.hidden, q_dim, ffn})));
  if (config.shared_ffn > 0) {
    b.shared = carve.Floats(rows, config.hidden);
    b.shared_gate = carve.Floats(rows, 1);
  }
  if (config.router.experts > 0) b.moe = carve.Bytes(MoeLayer::WorkspaceBytes(config, rows));
  std::vector<std::int64_t> windows;
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const std::int64_t window = config.layers[i].window;
    if (std::find(windows.begin(), windows.end(), window) != windows.end()) continue;
    windows.push_back(window);
    b.attention_bytes = std::max(b.attention_bytes,
                                 MostAttentionBytes(kv[i].view, config, window, options, threads));
  }
  b.attention = carve.Bytes(b.attention_bytes);
  b.total = carve.used();
  return b;
}

std::size_t Forward::WorkspaceBytes(const ModelConfig& config, const std::vector<LayerKv>& kv,
                                    const ForwardOptions& options, int threads) {
  const std::size_t lists =
      config.router.experts > 0 ? MoeLayer::ListBytes(config, options.max_rows) : 0;
  return LayOut(config, kv, options, threads, nullptr).total +
         RopePositions::Bytes(config, options.max_rows) + lists;
}

Result<std::unique_ptr<Forward>> Forward::Create(const ModelConfig& config, ModelWeights& weights,
                                                 std::vector<LayerKv> kv,
                                                 const ForwardOptions& options, ThreadPool& pool) {
  std::unique_ptr<Forward> forward(new Forward(config, weights, std::move(kv), options, pool));
  const std::size_t bytes = LayOut(config, forward->kv_, options, pool.size(), nullptr).total;
  Result<AlignedBuffer> workspace = AlignedBuffer::Create(bytes, "workspace");
  if (!workspace) return std::unexpected(workspace.error());
  forward->workspace_ = *std::move(workspace);
  forward->buffers_ =
      LayOut(config, forward->kv_, options, pool.size(), forward->workspace_.data());
  if (config.router.experts > 0) {
    forward->moe_.emplace(config, options.isa, options.numerics, options.max_rows,
                          forward->buffers_.moe);
    forward->expert_loads_.assign(static_cast<std::size_t>(config.moe_layers),
                                  ExpertLoad(config.router.experts));
  }
  return forward;
}

void Forward::Run(const ForwardBatch& batch, float* logits) {
  const auto rows = static_cast<std::int64_t>(batch.tokens.size());
  router_faults_.clear();
  weights_->packing.BeforeStep(*pool_);
  Embed(batch);
  positions_.Fill(batch.groups.front(), *pool_);
  for (std::size_t i = 0; i < weights_->layers.size(); ++i) {
    const LayerWeights& layer = weights_->layers[i];
    NormRows(buffers_.x, layer.attn_norm, rows, buffers_.normed);
    AttentionBranch(batch, i);
    AddBranch(rows, layer.attn_post_norm);
    NormRows(buffers_.x, layer.ffn_norm, rows, buffers_.normed);
    FfnBranch(batch, i);
    AddBranch(rows, layer.ffn_post_norm);
  }
  Head(batch.logit_rows, logits);
}

void Forward::Embed(const ForwardBatch& batch) {
  const std::int64_t hidden = config_->hidden;
  pool_->ParallelFor(static_cast<std::int64_t>(batch.tokens.size()), [&](std::int64_t row, int) {
    float* x = buffers_.x + row * hidden;
    UnpackRow(weights_->token_embedding, batch.tokens[static_cast<std::size_t>(row)], x);
    if (config_->embedding_scale != 1.0F)
      ScaleInPlace(options_.isa, config_->embedding_scale, hidden, x);
  });
}

void Forward::AttentionBranch(const ForwardBatch& batch, std::size_t layer_index) {
  const auto rows = static_cast<std::int64_t>(batch.tokens.size());
  const LayerWeights& layer = weights_->layers[layer_index];
  const LayerConfig& layer_config = config_->layers[layer_index];
  const KvView& kv = kv_[layer_index].view;
  const std::span<const AttentionSequence> sequences =
      batch.groups[static_cast<std::size_t>(kv_[layer_index].group)];
  const Activations normed = Convert(buffers_.normed, rows, config_->hidden);
  const std::array<ProductTarget, 3> qkv = {{{&layer.q, buffers_.q, layer.q.n},
                                             {&layer.k, buffers_.k, layer.k.n},
                                             {&layer.v, buffers_.v, layer.v.n}}};
  Multiply(options_.isa, normed, qkv, *pool_);
  FinishHeads(batch, layer, layer_config.rope);
  StoreKv(options_.isa, kv, sequences, buffers_.k, buffers_.v, *pool_);
  const AttentionParams params{.query_heads = config_->query_heads,
                               .scale = config_->attention_scale,
                               .window = layer_config.window};
  Attention(options_.isa, kv, params, sequences, buffers_.q, buffers_.attended,
            {buffers_.attention, buffers_.attention_bytes}, *pool_);
  const Activations attended = Convert(buffers_.attended, rows, layer.attn_out.k);
  const ProductTarget out{&layer.attn_out, buffers_.branch, config_->hidden};
  Multiply(options_.isa, attended, {&out, 1}, *pool_);
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

void Forward::FfnBranch(const ForwardBatch& batch, std::size_t layer_index) {
  const auto rows = static_cast<std::int64_t>(batch.tokens.size());
  const LayerWeights& layer = weights_->layers[layer_index];
  const Activations normed = Convert(buffers_.normed, rows, config_->hidden);
  if (layer.moe.experts.empty()) {
    FeedForward(normed, layer.ffn, buffers_.branch);
    return;
  }
  moe_->Run(layer.moe, normed, buffers_.branch, *pool_);
  NoteRouting(batch, layer_index);
  if (config_->shared_ffn > 0) AddSharedExpert(normed, layer.moe);
}

void Forward::NoteRouting(const ForwardBatch& batch, std::size_t layer) {
  const LayerRouting& routing = moe_->routing();
  NoteRouterFaults(static_cast<std::int64_t>(batch.tokens.size()), layer);
  const auto moe_layer = static_cast<std::size_t>(config_->layers[layer].moe_index);
  expert_loads_[moe_layer].Add(routing.chosen, routing.scores);
  if (batch.routed_experts == nullptr) return;
  const auto top_k = static_cast<std::size_t>(config_->router.top_k);
  for (std::size_t row = 0; row < batch.tokens.size(); ++row) {
    std::int16_t* to = batch.routed_experts + (row * expert_loads_.size() + moe_layer) * top_k;
    for (std::size_t i = 0; i < top_k; ++i)
      to[i] = static_cast<std::int16_t>(routing.chosen[row * top_k + i].expert);
  }
}

void Forward::NoteRouterFaults(std::int64_t rows, std::size_t layer) {
  const LayerRouting& routing = moe_->routing();
  if (routing.first_bad_row < 0) return;
  router_faults_.resize(static_cast<std::size_t>(rows), -1);
  const auto experts = static_cast<std::size_t>(config_->router.experts);
  for (auto row = static_cast<std::size_t>(routing.first_bad_row); row < router_faults_.size();
       ++row) {
    if (std::isnan(routing.scores[row * experts]) && router_faults_[row] < 0)
      router_faults_[row] = static_cast<std::int32_t>(layer);
  }
}

// out = down(act(gate(x)) * up(x)). The converted form of x is gone afterwards.
void Forward::FeedForward(const Activations& x, const FfnWeights& weights, float* out) {
  const std::int64_t ffn = weights.gate.n;
  const std::array<ProductTarget, 2> gate_up = {
      {{&weights.gate, buffers_.gate, ffn}, {&weights.up, buffers_.up, ffn}}};
  Multiply(options_.isa, x, gate_up, *pool_);
  const std::int64_t pieces = (ffn + kColumnsPerTask - 1) / kColumnsPerTask;
  const auto gated = config_->activation == GatedActivation::kGelu ? GeluMul : SiluMul;
  pool_->ParallelFor(x.rows * pieces, [&](std::int64_t task, int) {
    const std::int64_t column = task % pieces * kColumnsPerTask;
    const std::int64_t offset = task / pieces * ffn + column;
    gated(options_.isa, buffers_.gate + offset, buffers_.up + offset,
          std::min(kColumnsPerTask, ffn - column), buffers_.gate + offset);
  });
  const Activations hidden = Convert(buffers_.gate, x.rows, ffn);
  const ProductTarget target{&weights.down, out, config_->hidden};
  Multiply(options_.isa, hidden, {&target, 1}, *pool_);
}

// The network that every row goes through beside its experts, scaled where the model gates it.
void Forward::AddSharedExpert(const Activations& x, const MoeWeights& weights) {
  const bool gated = weights.shared_gate.n > 0;
  if (gated) {
    const ProductTarget target{&weights.shared_gate, buffers_.shared_gate, 1};
    Multiply(options_.isa, x, {&target, 1}, *pool_);
  }
  FeedForward(x, weights.shared, buffers_.shared);
  pool_->ParallelFor(x.rows, [&](std::int64_t row, int) {
    const float factor = gated ? 1.0F / (1.0F + Exp(-buffers_.shared_gate[row])) : 1.0F;
    MulAddInPlace(options_.isa, factor, buffers_.shared + row * config_->hidden, config_->hidden,
                  buffers_.branch + row * config_->hidden);
  });
}

void Forward::AddBranch(std::int64_t rows, const std::vector<float>& post_norm) {
  if (!post_norm.empty()) NormRows(buffers_.branch, post_norm, rows, buffers_.branch);
  AddRows(*pool_, options_.isa, config_->residual_scale, buffers_.branch, rows, config_->hidden,
          buffers_.x);
}

void Forward::NormRows(const float* in, const std::vector<float>& weight, std::int64_t rows,
                       float* out) {
  const std::int64_t n = config_->hidden;
  pool_->ParallelFor((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(rows, (task + 1) * kRowsPerTask);
    for (std::int64_t row = task * kRowsPerTask; row < end; ++row) {
      RmsNorm(options_.isa, in + row * n, weight.data(), n, config_->norm_eps, out + row * n);
    }
  });
}

// The last norm and the product with the output matrix, for the rows that want logits.
void Forward::Head(std::span<const std::int64_t> rows, float* logits) {
  const std::int64_t hidden = config_->hidden;
  for (std::size_t done = 0; done < rows.size();) {
    const std::size_t count =
        std::min(rows.size() - done,
                 static_cast<std::size_t>(std::min(options_.max_logit_rows, options_.max_rows)));
    for (std::size_t i = 0; i < count; ++i) {
      RmsNorm(options_.isa, buffers_.x + rows[done + i] * hidden, weights_->output_norm.data(),
              hidden, config_->norm_eps, buffers_.normed + static_cast<std::int64_t>(i) * hidden);
    }
    const Activations normed = Convert(buffers_.normed, static_cast<std::int64_t>(count), hidden);
    const ProductTarget out{&weights_->output,
                            logits + static_cast<std::int64_t>(done) * config_->vocab,
                            config_->vocab};
    Multiply(options_.isa, normed, {&out, 1}, *pool_);
    ScaleLogits({out.y, count * static_cast<std::size_t>(config_->vocab)});
    done += count;
  }
}

void Forward::ScaleLogits(std::span<float> logits) {
  if (config_->logit_scale == 1.0F) return;
  const auto count = static_cast<std::int64_t>(logits.size());
  pool_->ParallelFor((count + kColumnsPerTask - 1) / kColumnsPerTask, [&](std::int64_t task, int) {
    const std::int64_t first = task * kColumnsPerTask;
    ScaleInPlace(options_.isa, config_->logit_scale, std::min(kColumnsPerTask, count - first),
                 logits.data() + first);
  });
}

Activations Forward::Convert(const float* x, std::int64_t rows, std::int64_t k) {
  return ConvertActivations(options_.isa, options_.numerics, x, rows, k, buffers_.packed, *pool_);
}

}  // namespace folio
