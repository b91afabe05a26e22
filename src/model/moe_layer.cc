#include "model/moe_layer.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/elementwise.h"
#include "model/add_bias.h"
#include "model/apply_gate.h"
#include "model/workspace_carver.h"

namespace folio {
namespace {

constexpr std::int64_t kRowsPerTask = 4;

std::int64_t MostSlots(const ModelConfig& config, std::int64_t max_rows) {
  return max_rows * config.router.top_k;
}

// An expert's converted rows begin on a border of 64 bytes, so each may need a little more.
std::size_t MostConvertedBytes(const ModelConfig& config, std::int64_t max_rows) {
  const std::int64_t slots = MostSlots(config, max_rows);
  const std::int64_t busy = std::min<std::int64_t>(slots, config.router.experts);
  return ActivationBytes(slots, std::max(config.hidden, config.expert_ffn)) +
         static_cast<std::size_t>(busy) * 64;
}

}  // namespace

MoeLayer::Buffers MoeLayer::LayOut(const ModelConfig& config, std::int64_t max_rows,
                                   std::byte* base) {
  const std::int64_t slots = MostSlots(config, max_rows);
  WorkspaceCarver carve(base);
  Buffers b;
  b.logits = carve.Floats(max_rows, config.router.experts);
  b.scores = carve.Floats(max_rows, config.router.experts);
  b.gathered = carve.Floats(slots, config.hidden);
  b.gate = carve.Floats(slots, config.expert_ffn);
  b.up = carve.Floats(slots, config.expert_ffn);
  b.converted = carve.Bytes(MostConvertedBytes(config, max_rows));
  b.total = carve.used();
  return b;
}

std::size_t MoeLayer::WorkspaceBytes(const ModelConfig& config, std::int64_t max_rows) {
  return LayOut(config, max_rows, nullptr).total;
}

std::size_t MoeLayer::ListBytes(const ModelConfig& config, std::int64_t max_rows) {
  const auto slots = static_cast<std::size_t>(MostSlots(config, max_rows));
  const auto experts = static_cast<std::size_t>(config.router.experts);
  const std::size_t busy = std::min(slots, experts);
  return Dispatch::Bytes(config.router.experts, config.router.top_k, max_rows) +
         slots * sizeof(RoutedExpert) + experts * sizeof(std::size_t) +
         (slots / kActivationTileRows + busy) * sizeof(Tile) + 2 * busy * sizeof(ProductJob);
}

MoeLayer::MoeLayer(const ModelConfig& config, Isa isa, Numerics numerics, std::int64_t max_rows,
                   std::byte* workspace)
    : config_(&config),
      isa_(isa),
      numerics_(numerics),
      buffers_(LayOut(config, max_rows, workspace)),
      dispatch_(config.router.experts, config.router.top_k, max_rows),
      converted_at_(static_cast<std::size_t>(config.router.experts)) {
  const auto slots = static_cast<std::size_t>(MostSlots(config, max_rows));
  const std::size_t busy = std::min(slots, converted_at_.size());
  chosen_.reserve(slots);
  tiles_.reserve(slots / kActivationTileRows + busy);
  jobs_.reserve(2 * busy);
}

void MoeLayer::Run(const MoeWeights& weights, const Activations& x, float* out, ThreadPool& pool) {
  RouteRows(weights, x, pool);
  dispatch_.Build(chosen_);
  PlaceConverted();
  if (weights.cache == nullptr) {
    RunExperts(weights, dispatch_.busy_experts(), x, pool);
  } else {
    RunCached(weights, x, pool);
  }
  Combine(weights, x.rows, out, pool);
}

// Those in memory first, while the others are read.
void MoeLayer::RunCached(const MoeWeights& weights, const Activations& x, ThreadPool& pool) {
  ExpertCache& cache = *weights.cache;
  cache.Begin(weights.cache_layer, dispatch_);
  for (std::span<const std::int32_t> experts = cache.Next(); !experts.empty();
       experts = cache.Next())
    RunExperts(weights, experts, x, pool);
  unread_rows_.clear();
  for (const std::int32_t expert : cache.failed()) {
    for (std::int64_t slot = dispatch_.first_slot(expert); slot < dispatch_.first_slot(expert + 1);
         ++slot)
      unread_rows_.push_back(dispatch_.row_of(slot));
  }
  routing_.unread_rows = unread_rows_;
  routing_.read_error = &cache.error();
}

// These experts' networks for all of their rows; outputs to the rows' slots.
void MoeLayer::RunExperts(const MoeWeights& weights, std::span<const std::int32_t> experts,
                          const Activations& x, ThreadPool& pool) {
  CutIntoTiles(experts);
  Gather(x, pool);
  GateAndUp(weights, experts, pool);
  Activate(weights, pool);
  Down(weights, experts, pool);
}

void MoeLayer::RouteRows(const MoeWeights& weights, const Activations& x, ThreadPool& pool) {
  const RouterConfig& router = config_->router;
  const ProductTarget target{&weights.router, buffers_.logits, router.experts};
  Multiply(isa_, x, {&target, 1}, pool);
  chosen_.resize(static_cast<std::size_t>(x.rows * router.top_k));
  const float* bias = weights.choice_bias.empty() ? nullptr : weights.choice_bias.data();
  std::atomic<std::int64_t> first_bad_row = x.rows;
  pool.ParallelFor((x.rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(x.rows, (task + 1) * kRowsPerTask);
    for (std::int64_t row = task * kRowsPerTask; row < end; ++row) {
      const std::span<RoutedExpert> chosen = std::span(chosen_).subspan(
          static_cast<std::size_t>(row * router.top_k), static_cast<std::size_t>(router.top_k));
      float* logits = buffers_.logits + row * router.experts;
      if (!weights.router_bias.empty())
        AddInPlace(isa_, weights.router_bias.data(), router.experts, logits);
      if (Route(router, logits, bias, buffers_.scores + row * router.experts, chosen)) continue;
      std::int64_t first = first_bad_row.load();
      while (row < first && !first_bad_row.compare_exchange_weak(first, row)) {
      }
    }
  });
  routing_.chosen = chosen_;
  routing_.scores = {buffers_.scores, static_cast<std::size_t>(x.rows * router.experts)};
  routing_.first_bad_row = first_bad_row == x.rows ? -1 : first_bad_row.load();
}

void MoeLayer::PlaceConverted() {
  const std::int64_t k = std::max(config_->hidden, config_->expert_ffn);
  std::size_t converted = 0;
  for (const std::int32_t expert : dispatch_.busy_experts()) {
    converted_at_[static_cast<std::size_t>(expert)] = converted;
    converted += ActivationBytes(dispatch_.count(expert), k);
  }
}

void MoeLayer::CutIntoTiles(std::span<const std::int32_t> experts) {
  tiles_.clear();
  for (const std::int32_t expert : experts) {
    const std::int64_t rows = dispatch_.count(expert);
    for (std::int64_t first = 0; first < rows; first += kActivationTileRows)
      tiles_.push_back({expert, first, std::min(kActivationTileRows, rows - first)});
  }
}

Activations MoeLayer::RowsOf(std::int32_t expert, const float* floats, std::int64_t k) const {
  return {.numerics = numerics_,
          .rows = dispatch_.count(expert),
          .k = k,
          .floats = floats + dispatch_.first_slot(expert) * k,
          .packed = buffers_.converted + converted_at_[static_cast<std::size_t>(expert)]};
}

void MoeLayer::ConvertTile(const Tile& tile, const float* floats, std::int64_t k) const {
  const Activations rows = RowsOf(tile.expert, floats, k);
  ConvertActivationTile(isa_, numerics_, rows.floats, rows.rows, k, tile.first,
                        buffers_.converted + converted_at_[static_cast<std::size_t>(tile.expert)]);
}

// Dispatch: each expert's rows side by side, as floats and converted.
void MoeLayer::Gather(const Activations& x, ThreadPool& pool) {
  const std::int64_t hidden = config_->hidden;
  pool.ParallelFor(static_cast<std::int64_t>(tiles_.size()), [&](std::int64_t index, int) {
    const Tile& tile = tiles_[static_cast<std::size_t>(index)];
    const std::int64_t first_slot = dispatch_.first_slot(tile.expert) + tile.first;
    for (std::int64_t slot = first_slot; slot < first_slot + tile.rows; ++slot) {
      std::memcpy(buffers_.gathered + slot * hidden, x.floats + dispatch_.row_of(slot) * hidden,
                  static_cast<std::size_t>(hidden) * sizeof(float));
    }
    ConvertTile(tile, buffers_.gathered, hidden);
  });
}

void MoeLayer::GateAndUp(const MoeWeights& weights, std::span<const std::int32_t> experts,
                         ThreadPool& pool) {
  const std::int64_t ffn = config_->expert_ffn;
  jobs_.clear();
  for (const std::int32_t expert : experts) {
    const FfnWeights& own = weights.experts[static_cast<std::size_t>(expert)];
    const Activations rows = RowsOf(expert, buffers_.gathered, config_->hidden);
    const std::int64_t at = dispatch_.first_slot(expert) * ffn;
    jobs_.push_back({.x = rows, .target = {&own.gate, buffers_.gate + at, ffn}});
    jobs_.push_back({.x = rows, .target = {&own.up, buffers_.up + at, ffn}});
  }
  Multiply(isa_, jobs_, pool);
}

void MoeLayer::Activate(const MoeWeights& weights, ThreadPool& pool) {
  const std::int64_t ffn = config_->expert_ffn;
  pool.ParallelFor(static_cast<std::int64_t>(tiles_.size()), [&](std::int64_t index, int) {
    const Tile& tile = tiles_[static_cast<std::size_t>(index)];
    const std::int64_t at = (dispatch_.first_slot(tile.expert) + tile.first) * ffn;
    const FfnWeights& own = weights.experts[static_cast<std::size_t>(tile.expert)];
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      AddBias(isa_, own.gate_bias, buffers_.gate + at + row * ffn);
      AddBias(isa_, own.up_bias, buffers_.up + at + row * ffn);
    }
    ApplyGate(isa_, config_->activation, buffers_.gate + at, buffers_.up + at, tile.rows * ffn,
              buffers_.gate + at);
    ConvertTile(tile, buffers_.gate, ffn);
  });
}

void MoeLayer::Down(const MoeWeights& weights, std::span<const std::int32_t> experts,
                    ThreadPool& pool) {
  const std::int64_t hidden = config_->hidden;
  jobs_.clear();
  for (const std::int32_t expert : experts) {
    const FfnWeights& own = weights.experts[static_cast<std::size_t>(expert)];
    float* y = buffers_.gathered + dispatch_.first_slot(expert) * hidden;
    jobs_.push_back({.x = RowsOf(expert, buffers_.gate, config_->expert_ffn),
                     .target = {&own.down, y, hidden}});
  }
  Multiply(isa_, jobs_, pool);
}

// Each row's outputs, weighted and summed in the order of its choices.
void MoeLayer::Combine(const MoeWeights& weights, std::int64_t rows, float* out,
                       ThreadPool& pool) const {
  const std::int64_t hidden = config_->hidden;
  const int top_k = config_->router.top_k;
  pool.ParallelFor((rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(rows, (task + 1) * kRowsPerTask);
    for (std::int64_t row = task * kRowsPerTask; row < end; ++row) {
      float* y = out + row * hidden;
      std::fill(y, y + hidden, 0.0F);
      for (int choice = 0; choice < top_k; ++choice) {
        const RoutedExpert& routed = chosen_[static_cast<std::size_t>(row * top_k + choice)];
        float* output = buffers_.gathered + dispatch_.slot_of(row, choice) * hidden;
        AddBias(isa_, weights.experts[static_cast<std::size_t>(routed.expert)].down_bias, output);
        MulAddInPlace(isa_, routed.weight, output, hidden, y);
      }
    }
  });
}

}  // namespace folio
