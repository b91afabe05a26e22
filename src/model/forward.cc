#include "model/forward.h"

#include <algorithm>
#include <utility>

#include "kernels/elementwise.h"
#include "model/norm_row.h"
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
  if (config.latent.rank == 0) {
    b.v = carve.Floats(rows, kv_dim);
    b.attended = carve.Floats(rows, q_dim);
  } else {
    b.attended = carve.Floats(rows, config.query_heads * config.latent.rank);
    b.expanded = carve.Floats(rows, config.query_heads * config.latent.value);
    b.latent = carve.Bytes(LatentAttention::WorkspaceBytes(config, rows));
  }
  b.branch = carve.Floats(rows, config.hidden);
  const std::int64_t ffn = DenseWidth(config);
  b.gate = carve.Floats(rows, ffn);
  b.up = carve.Floats(rows, ffn);
  const std::int64_t out_dim =
      config.latent.rank == 0 ? q_dim : config.query_heads * config.latent.value;
  b.packed = carve.Bytes(ActivationBytes(rows, std::max({config.hidden, out_dim, ffn})));
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
  if (config.latent.rank > 0) {
    forward->latent_.emplace(config, options.isa, options.numerics, options.max_rows,
                             forward->buffers_.latent);
  }
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
  unread_rows_.clear();
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
  if (config_->learned_positions) LookUpPositions(batch.groups.front());
  pool_->ParallelFor(static_cast<std::int64_t>(batch.tokens.size()), [&](std::int64_t row, int) {
    float* x = buffers_.x + row * hidden;
    UnpackRow(weights_->token_embedding, batch.tokens[static_cast<std::size_t>(row)], x);
    if (config_->embedding_scale != 1.0F)
      ScaleInPlace(options_.isa, config_->embedding_scale, hidden, x);
    if (config_->learned_positions)
      AddInPlace(options_.isa, buffers_.normed + row * hidden, hidden, x);
  });
}

// Learned positions' rows, to where the first norm's output will be.
void Forward::LookUpPositions(std::span<const AttentionSequence> sequences) {
  for (const AttentionSequence& sequence : sequences) {
    pool_->ParallelFor(sequence.rows, [&](std::int64_t i, int) {
      UnpackRow(weights_->position_embedding, sequence.first_position + i,
                buffers_.normed + (sequence.first_row + i) * config_->hidden);
    });
  }
}

void Forward::AddBranch(std::int64_t rows, const NormWeights& post_norm) {
  if (!post_norm.empty()) NormRows(buffers_.branch, post_norm, rows, buffers_.branch);
  AddRows(*pool_, options_.isa, config_->residual_scale, buffers_.branch, rows, config_->hidden,
          buffers_.x);
}

void Forward::NormRows(const float* in, const NormWeights& norm, std::int64_t rows, float* out) {
  const std::int64_t n = config_->hidden;
  pool_->ParallelFor((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(rows, (task + 1) * kRowsPerTask);
    for (std::int64_t row = task * kRowsPerTask; row < end; ++row)
      NormRow(options_.isa, *config_, norm, in + row * n, out + row * n);
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
      NormRow(options_.isa, *config_, weights_->output_norm, buffers_.x + rows[done + i] * hidden,
              buffers_.normed + static_cast<std::int64_t>(i) * hidden);
    }
    const Activations normed = Convert(buffers_.normed, static_cast<std::int64_t>(count), hidden);
    const ProductTarget out{&weights_->output,
                            logits + static_cast<std::int64_t>(done) * config_->vocab,
                            config_->vocab};
    Multiply(options_.isa, normed, {&out, 1}, *pool_);
    FinishLogits({out.y, count * static_cast<std::size_t>(config_->vocab)});
    done += count;
  }
}

// What some models do to their logits: a factor, a cap.
void Forward::FinishLogits(std::span<float> logits) {
  const bool scaled = config_->logit_scale != 1.0F;
  const bool capped = config_->logit_softcap != 0.0F;
  if (!scaled && !capped) return;
  const auto count = static_cast<std::int64_t>(logits.size());
  pool_->ParallelFor((count + kColumnsPerTask - 1) / kColumnsPerTask, [&](std::int64_t task, int) {
    const std::int64_t first = task * kColumnsPerTask;
    const std::int64_t columns = std::min(kColumnsPerTask, count - first);
    float* at = logits.data() + first;
    if (scaled) ScaleInPlace(options_.isa, config_->logit_scale, columns, at);
    if (capped) SoftcapInPlace(options_.isa, config_->logit_softcap, columns, at);
  });
}

Activations Forward::Convert(const float* x, std::int64_t rows, std::int64_t k) {
  return ConvertActivations(options_.isa, options_.numerics, x, rows, k, buffers_.packed, *pool_);
}

}  // namespace folio
