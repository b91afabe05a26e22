#include "folio/lab_positions_layer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "cpu/aligned_buffer.h"
#include "kernels/product.h"
#include "kernels/softcap.h"
#include "kvcache/kv_sizing.h"
#include "model/forward.h"
#include "model/norm_row.h"
#include "plan/layer_kvs.h"

namespace folio {
namespace {

// Rows of floats.
class Rows {
 public:
  Rows(std::size_t count, std::int64_t width)
      : width_(static_cast<std::size_t>(width)), values_(count * width_) {}
  std::span<float> operator[](std::size_t row) { return {values_.data() + row * width_, width_}; }
  std::span<const float> operator[](std::size_t row) const {
    return {values_.data() + row * width_, width_};
  }
  float* data() { return values_.data(); }
  std::size_t count() const { return values_.size() / width_; }

 private:
  std::size_t width_;
  std::vector<float> values_;
};

Status Project(const LabModel& model, Rows& in, const PackedMatrix& weights, Rows& out) {
  const auto rows = static_cast<std::int64_t>(in.count());
  const Result<AlignedBuffer> packed =
      AlignedBuffer::Create(ActivationBytes(rows, weights.k), "lab positions");
  if (!packed) return std::unexpected(packed.error());
  const Activations x = ConvertActivations(model.isa, Numerics::kInt16, in.data(), rows, weights.k,
                                           packed->data(), model.pool);
  const ProductTarget target{&weights, out.data(), weights.n};
  Multiply(model.isa, x, {&target, 1}, model.pool);
  return {};
}

// The layer's input: embeddings with what the encoding adds to them, normed.
Result<Rows> Normed(const LabModel& model, std::span<const TokenId> tokens,
                    const PositionEncoding& encoding) {
  const ModelConfig& config = model.config;
  Rows x(tokens.size(), config.hidden);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    UnpackRow(model.weights.token_embedding, tokens[i], x[i].data());
    ScaleInPlace(model.isa, config.embedding_scale, config.hidden, x[i].data());
    const Status added = AddToEmbedding(encoding, static_cast<std::int64_t>(i), x[i]);
    if (!added) return std::unexpected(added.error());
    NormRow(model.isa, config, model.weights.layers[0].attn_norm, x[i].data(), x[i].data());
  }
  return x;
}

// Bias, norm and rotation of each head of queries or keys. The norm is one over all heads where it
// has their size together.
void FinishHeads(const LabModel& model, const PositionEncoding& encoding,
                 const std::vector<float>& bias, const std::vector<float>& norm, Rows& rows) {
  const auto head_dim = static_cast<std::size_t>(model.config.head_dim);
  for (std::size_t i = 0; i < rows.count(); ++i) {
    const std::span<float> row = rows[i];
    if (!bias.empty())
      AddInPlace(model.isa, bias.data(), static_cast<std::int64_t>(bias.size()), row.data());
    for (std::size_t first = 0; first < row.size() && !norm.empty(); first += norm.size()) {
      RmsNorm(model.isa, row.data() + first, norm.data(), static_cast<std::int64_t>(norm.size()),
              model.config.norm_eps, row.data() + first);
    }
    for (std::size_t first = 0; first < row.size(); first += head_dim) {
      const std::span<float> head = row.subspan(first, head_dim);
      TurnHead(model.isa, encoding, static_cast<std::int64_t>(i), head);
    }
  }
}

// Softmax over all keys for the last query, head by head.
void AttendLast(const ModelConfig& config, const PositionEncoding& encoding, const Rows& q,
                const Rows& k, const Rows& v, std::span<const float> sinks, std::span<float> out) {
  const auto head_dim = static_cast<std::size_t>(config.head_dim);
  const std::size_t last = k.count() - 1;
  for (int head = 0; head < config.query_heads; ++head) {
    const auto at = static_cast<std::size_t>(head) * head_dim;
    const auto kv_at =
        static_cast<std::size_t>(head / (config.query_heads / config.kv_heads)) * head_dim;
    const std::span<const float> query = q[last].subspan(at, head_dim);
    std::vector<float> weights;
    for (std::size_t i = 0; i <= last; ++i) {
      const std::span<const float> key = k[i].subspan(kv_at, head_dim);
      const double bias =
          ScoreBias(encoding, head, static_cast<std::int64_t>(last), static_cast<std::int64_t>(i));
      const float score = config.attention_scale *
                          std::inner_product(query.begin(), query.end(), key.begin(), 0.0F);
      const float cap = config.attention_softcap;
      weights.push_back((cap == 0.0F ? score : Softcap(score, cap)) + static_cast<float>(bias));
    }
    const float largest = std::ranges::max(weights);
    float sum = sinks.empty() ? 0.0F : std::exp(sinks[static_cast<std::size_t>(head)] - largest);
    for (float& weight : weights) sum += weight = std::exp(weight - largest);
    for (std::size_t i = 0; i <= last; ++i) {
      for (std::size_t d = 0; d < head_dim; ++d) out[at + d] += weights[i] / sum * v[i][kv_at + d];
    }
  }
}

}  // namespace

Result<std::vector<float>> AttentionOutput(const LabModel& model, std::span<const TokenId> tokens,
                                           const PositionEncoding& encoding) {
  const LayerWeights& layer = model.weights.layers[0];
  Result<Rows> normed = Normed(model, tokens, encoding);
  if (!normed) return std::unexpected(normed.error());
  Rows q(tokens.size(), layer.q.n);
  Rows k(tokens.size(), layer.k.n);
  Rows v(tokens.size(), layer.v.n);
  for (const auto& [weights, out] :
       {std::pair{&layer.q, &q}, std::pair{&layer.k, &k}, std::pair{&layer.v, &v}}) {
    if (const Status done = Project(model, *normed, *weights, *out); !done)
      return std::unexpected(done.error());
  }
  FinishHeads(model, encoding, layer.q_bias, layer.q_norm, q);
  FinishHeads(model, encoding, layer.k_bias, layer.k_norm, k);
  FinishHeads(model, NoPositions{}, layer.v_bias, {}, v);
  Rows attended(1, layer.attn_out.k);
  AttendLast(model.config, encoding, q, k, v, layer.sinks, attended[0]);
  Rows out(1, model.config.hidden);
  if (const Status done = Project(model, attended, layer.attn_out, out); !done)
    return std::unexpected(done.error());
  return std::vector<float>(out[0].begin(), out[0].end());
}

Result<std::vector<float>> LastLogits(const LabModel& model, std::span<const TokenId> tokens) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const Result<KvLayout> layout =
      LayOutKvBlock(KvSpecOf(model.config), KvType::kF32, kKvTileTokens);
  if (!layout) return std::unexpected(layout.error());
  const auto blocks = static_cast<std::size_t>(BlocksForTokens(rows, kKvTileTokens));
  const std::size_t groups = layout->groups.size();
  Result<AlignedBuffer> arena =
      AlignedBuffer::Create(layout->block_bytes * blocks * groups, "lab positions");
  if (!arena) return std::unexpected(arena.error());
  const Result<std::unique_ptr<Forward>> forward = Forward::Create(
      model.config, model.weights, LayerKvs(*layout, model.config, arena->data()),
      {.isa = model.isa, .max_rows = rows, .max_logit_rows = 1, .max_context = rows}, model.pool);
  if (!forward) return std::unexpected(forward.error());
  std::vector<std::int32_t> tables(blocks * groups);
  std::iota(tables.begin(), tables.end(), 0);
  std::vector<std::vector<AttentionSequence>> sequences;
  for (std::size_t group = 0; group < groups; ++group)
    sequences.push_back({{.block_table = tables.data() + group * blocks, .rows = rows}});
  const std::int64_t last = rows - 1;
  std::vector<float> logits(static_cast<std::size_t>(model.config.vocab));
  (*forward)->Run({.tokens = tokens, .groups = sequences, .logit_rows = {&last, 1}}, logits.data());
  return logits;
}

}  // namespace folio
