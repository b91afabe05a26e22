#include "model/latent_attention.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "kernels/elementwise.h"
#include "model/workspace_carver.h"

namespace folio {
namespace {

std::int64_t QueryDim(const LatentConfig& latent) { return latent.plain + latent.rotary; }

std::int64_t WidestHead(const LatentConfig& latent) { return std::max(latent.plain, latent.rank); }

}  // namespace

LatentAttention::Buffers LatentAttention::LayOut(const ModelConfig& config, std::int64_t max_rows,
                                                 std::byte* base) {
  const LatentConfig& latent = config.latent;
  const std::int64_t heads = config.query_heads;
  WorkspaceCarver carve(base);
  Buffers b;
  b.queries = carve.Floats(max_rows, heads * QueryDim(latent));
  b.query_latent = carve.Floats(max_rows, latent.query_rank);
  b.latent = carve.Floats(max_rows, latent.rank + latent.rotary);
  b.by_head = carve.Floats(max_rows * heads, WidestHead(latent));
  b.converted =
      carve.Bytes(ActivationBytes(max_rows, WidestHead(latent)) * static_cast<std::size_t>(heads));
  b.query_converted = carve.Bytes(ActivationBytes(max_rows, latent.query_rank));
  b.total = carve.used();
  return b;
}

std::size_t LatentAttention::WorkspaceBytes(const ModelConfig& config, std::int64_t max_rows) {
  return LayOut(config, max_rows, nullptr).total;
}

LatentAttention::LatentAttention(const ModelConfig& config, Isa isa, Numerics numerics,
                                 std::int64_t max_rows, std::byte* workspace)
    : config_(&config),
      isa_(isa),
      numerics_(numerics),
      buffers_(LayOut(config, max_rows, workspace)) {
  jobs_.reserve(static_cast<std::size_t>(config.query_heads));
}

void LatentAttention::Project(const LayerWeights& layer, const RopePositions& positions,
                              const Activations& x, float* q, float* k, ThreadPool& pool) {
  const std::int64_t head_dim = config_->head_dim;
  const std::int64_t q_width = config_->query_heads * head_dim;
  MakeQueries(layer, x, pool);
  pool.ParallelFor(x.rows, [&](std::int64_t row, int) {
    FinishKey(layer.latent, positions, row, k + row * head_dim);
    FinishQueries(positions, x.rows, row, q + row * q_width);
  });
  MultiplyHeads(layer.latent.k_b, x.rows, q, q_width, head_dim, pool);
}

// The heads' queries, by way of a latent vector of their own where the model has one, and the rows'
// latent vectors.
void LatentAttention::MakeQueries(const LayerWeights& layer, const Activations& x,
                                  ThreadPool& pool) {
  const LatentWeights& weights = layer.latent;
  const std::int64_t query_rank = config_->latent.query_rank;
  const ProductTarget latent{&weights.kv_a, buffers_.latent, weights.kv_a.n};
  if (query_rank == 0) {
    const std::array<ProductTarget, 2> targets = {
        {{&layer.q, buffers_.queries, layer.q.n}, latent}};
    Multiply(isa_, x, targets, pool);
    return;
  }
  const std::array<ProductTarget, 2> targets = {
      {{&weights.q_a, buffers_.query_latent, query_rank}, latent}};
  Multiply(isa_, x, targets, pool);
  pool.ParallelFor(x.rows, [&](std::int64_t row, int) {
    float* c = buffers_.query_latent + row * query_rank;
    RmsNorm(isa_, c, weights.q_a_norm.data(), query_rank, config_->norm_eps, c);
  });
  const Activations converted = ConvertActivations(isa_, numerics_, buffers_.query_latent, x.rows,
                                                   query_rank, buffers_.query_converted, pool);
  const ProductTarget queries{&weights.q_b, buffers_.queries, weights.q_b.n};
  Multiply(isa_, converted, {&queries, 1}, pool);
}

// A row's key: the latent vector, normed, and the rotated part, not normed.
void LatentAttention::FinishKey(const LatentWeights& weights, const RopePositions& positions,
                                std::int64_t row, float* k) const {
  const LatentConfig& latent = config_->latent;
  const float* c = buffers_.latent + row * (latent.rank + latent.rotary);
  RmsNorm(isa_, c, weights.kv_a_norm.data(), latent.rank, config_->norm_eps, k);
  float* rotary = k + latent.rank;
  std::copy_n(c + latent.rank, latent.rotary, rotary);
  RotateHead(isa_, config_->rope_pairs, positions.cosines(0, row), positions.sines(0, row),
             latent.rotary, rotary);
  std::fill(rotary + latent.rotary, k + config_->head_dim, 0.0F);
}

// Each head's rotated part to its place behind the latent one, which MultiplyHeads makes of the
// plain part.
void LatentAttention::FinishQueries(const RopePositions& positions, std::int64_t rows,
                                    std::int64_t row, float* q) const {
  const LatentConfig& latent = config_->latent;
  const std::int64_t query_dim = QueryDim(latent);
  const float* queries = buffers_.queries + row * config_->query_heads * query_dim;
  for (int head = 0; head < config_->query_heads; ++head, q += config_->head_dim) {
    const float* from = queries + head * query_dim;
    std::copy_n(from, latent.plain, buffers_.by_head + (head * rows + row) * latent.plain);
    float* rotary = q + latent.rank;
    std::copy_n(from + latent.plain, latent.rotary, rotary);
    RotateHead(isa_, config_->rope_pairs, positions.cosines(0, row), positions.sines(0, row),
               latent.rotary, rotary);
    std::fill(rotary + latent.rotary, q + config_->head_dim, 0.0F);
  }
}

void LatentAttention::MultiplyHeads(const std::vector<PackedMatrix>& matrices, std::int64_t rows,
                                    float* y, std::int64_t stride, std::int64_t step,
                                    ThreadPool& pool) {
  const std::int64_t k = matrices.front().k;
  const std::size_t head_bytes = ActivationBytes(rows, k);
  const std::int64_t tiles = (rows + kActivationTileRows - 1) / kActivationTileRows;
  const auto floats = [&](std::int64_t head) { return buffers_.by_head + head * rows * k; };
  const auto converted = [&](std::int64_t head) {
    return buffers_.converted + static_cast<std::size_t>(head) * head_bytes;
  };
  const auto heads = static_cast<std::int64_t>(matrices.size());
  pool.ParallelFor(heads * tiles, [&](std::int64_t task, int) {
    const std::int64_t head = task / tiles;
    ConvertActivationTile(isa_, numerics_, floats(head), rows, k,
                          task % tiles * kActivationTileRows, converted(head));
  });
  jobs_.clear();
  for (std::int64_t head = 0; head < heads; ++head) {
    jobs_.push_back(
        {.x = {.numerics = numerics_,
               .rows = rows,
               .k = k,
               .floats = floats(head),
               .packed = converted(head)},
         .target = {&matrices[static_cast<std::size_t>(head)], y + head * step, stride}});
  }
  Multiply(isa_, jobs_, pool);
}

void LatentAttention::Expand(const LatentWeights& weights, std::int64_t rows, const float* latent,
                             float* out, ThreadPool& pool) {
  const std::int64_t rank = config_->latent.rank;
  const std::int64_t value = config_->latent.value;
  const std::int64_t heads = config_->query_heads;
  pool.ParallelFor(rows, [&](std::int64_t row, int) {
    for (std::int64_t head = 0; head < heads; ++head)
      std::copy_n(latent + (row * heads + head) * rank, rank,
                  buffers_.by_head + (head * rows + row) * rank);
  });
  MultiplyHeads(weights.v_b, rows, out, heads * value, value, pool);
}

}  // namespace folio
