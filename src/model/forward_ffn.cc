// The feed-forward branch of a layer: one network for every row, or experts and what is noted of
// them.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/exp.h"
#include "model/add_bias.h"
#include "model/apply_gate.h"
#include "model/forward.h"

namespace folio {
namespace {

constexpr std::int64_t kColumnsPerTask = 2048;

}  // namespace

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
  NoteUnreadRows(batch.tokens.size());
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

void Forward::NoteUnreadRows(std::size_t rows) {
  const LayerRouting& routing = moe_->routing();
  if (routing.unread_rows.empty()) return;
  if (unread_rows_.empty()) read_error_ = *routing.read_error;
  unread_rows_.resize(rows);
  for (const std::int32_t row : routing.unread_rows)
    unread_rows_[static_cast<std::size_t>(row)] = true;
}

Status Forward::CheckRead(std::size_t first_row, std::size_t rows) const {
  if (unread_rows_.empty()) return {};
  const auto first = unread_rows_.begin() + static_cast<std::ptrdiff_t>(first_row);
  const auto end = first + static_cast<std::ptrdiff_t>(rows);
  if (std::find(first, end, true) == end) return {};
  return std::unexpected(read_error_);
}

// out = down(act(gate(x)) * up(x)), or down(act(up(x))) where there is no gate. The converted form
// of x is gone afterwards.
void Forward::FeedForward(const Activations& x, const FfnWeights& weights, float* out) {
  const std::int64_t ffn = weights.up.n;
  const std::array<ProductTarget, 2> gate_up = {
      {{&weights.gate, buffers_.gate, ffn}, {&weights.up, buffers_.up, ffn}}};
  const std::span<const ProductTarget> targets(gate_up);
  const bool gated = config_->gated_ffn;
  Multiply(options_.isa, x, gated ? targets : targets.last(1), *pool_);
  AddBiasToRows(*pool_, options_.isa, weights.gate_bias, x.rows, buffers_.gate);
  AddBiasToRows(*pool_, options_.isa, weights.up_bias, x.rows, buffers_.up);
  const std::int64_t pieces = (ffn + kColumnsPerTask - 1) / kColumnsPerTask;
  pool_->ParallelFor(x.rows * pieces, [&](std::int64_t task, int) {
    const std::int64_t column = task % pieces * kColumnsPerTask;
    const std::int64_t offset = task / pieces * ffn + column;
    const std::int64_t count = std::min(kColumnsPerTask, ffn - column);
    if (gated) {
      ApplyGate(options_.isa, config_->activation, buffers_.gate + offset, buffers_.up + offset,
                count, buffers_.gate + offset);
    } else {
      GeluInPlace(options_.isa, count, buffers_.up + offset);
    }
  });
  const Activations hidden = Convert(gated ? buffers_.gate : buffers_.up, x.rows, ffn);
  const ProductTarget target{&weights.down, out, config_->hidden};
  Multiply(options_.isa, hidden, {&target, 1}, *pool_);
  AddBiasToRows(*pool_, options_.isa, weights.down_bias, x.rows, out);
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

}  // namespace folio
