#include "folio/lab_moe_layer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/product.h"
#include "model/workspace_carver.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr Numerics kNumerics = Numerics::kInt16;  // what the engine takes unless told otherwise

PackedMatrix PackFloats(std::span<const float> rows, std::int64_t n, std::int64_t k,
                        WorkspaceCarver& carve) {
  return PackRows(GgmlType::kF32, std::as_bytes(rows).data(), n, k,
                  carve.Bytes(PackedBytes(GgmlType::kF32, n, k)));
}

}  // namespace

PackedMatrix PackRows(GgmlType type, const std::byte* rows, std::int64_t n, std::int64_t k,
                      std::byte* packed) {
  const std::int64_t row_bytes = FileRowBytes(type, k);
  const auto strip_bytes = static_cast<std::int64_t>(PackedStripBytes(type, k));
  for (std::int64_t row = 0; row < n; row += kStripRows) {
    PackStrip(type, rows + row * row_bytes, std::min(kStripRows, n - row), k,
              packed + row / kStripRows * strip_bytes);
  }
  return {.type = type, .n = n, .k = k, .data = packed};
}

std::vector<float> NormalValues(std::size_t count, std::uint64_t seed, std::uint32_t stream) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(2 * i);
    // Box and Muller's transform of two uniform numbers.
    const double radius = std::sqrt(-2 * std::log(1 - UniformAt(seed, stream, at)));
    const double angle = 2 * std::numbers::pi * UniformAt(seed, stream, at + 1);
    values[i] = static_cast<float>(radius * std::cos(angle));
  }
  return values;
}

Result<TinyExperts> TinyExperts::Create(std::span<const float> router, std::int64_t hidden,
                                        std::int64_t expert_ffn, std::uint64_t seed) {
  const auto experts = static_cast<std::int64_t>(router.size()) / hidden;
  const std::size_t up_bytes = PackedBytes(GgmlType::kF32, expert_ffn, hidden) + 64;
  const std::size_t down_bytes = PackedBytes(GgmlType::kF32, hidden, expert_ffn) + 64;
  Result<AlignedBuffer> bytes =
      AlignedBuffer::Create(PackedBytes(GgmlType::kF32, experts, hidden) + 64 +
                                static_cast<std::size_t>(experts) * (2 * up_bytes + down_bytes),
                            "lab moe");
  if (!bytes) return std::unexpected(bytes.error());
  TinyExperts tiny{.bytes = *std::move(bytes)};
  WorkspaceCarver carve(tiny.bytes.data());
  tiny.weights.router = PackFloats(router, experts, hidden, carve);
  const auto count = static_cast<std::size_t>(hidden * expert_ffn);
  for (std::uint32_t stream = 0; stream < static_cast<std::uint32_t>(3 * experts); stream += 3) {
    FfnWeights& expert = tiny.weights.experts.emplace_back();
    expert.gate = PackFloats(NormalValues(count, seed, stream), expert_ffn, hidden, carve);
    expert.up = PackFloats(NormalValues(count, seed, stream + 1), expert_ffn, hidden, carve);
    expert.down = PackFloats(NormalValues(count, seed, stream + 2), hidden, expert_ffn, carve);
  }
  return tiny;
}

MoeWeights TinyExperts::Alone(std::size_t expert) const {
  MoeWeights alone;
  alone.router = weights.router;
  alone.router.n = 1;
  alone.experts = {weights.experts[expert]};
  return alone;
}

Result<std::unique_ptr<LabMoe>> LabMoe::Create(std::int64_t hidden, std::int64_t expert_ffn,
                                               const RouterConfig& router, std::int64_t max_rows,
                                               Isa isa, ThreadPool& pool) {
  ModelConfig config;
  config.hidden = hidden;
  config.expert_ffn = expert_ffn;
  config.router = router;
  std::unique_ptr<LabMoe> lab(new LabMoe(std::move(config), isa, pool));
  Result<AlignedBuffer> workspace =
      AlignedBuffer::Create(MoeLayer::WorkspaceBytes(lab->config_, max_rows), "lab moe");
  if (!workspace) return std::unexpected(workspace.error());
  Result<AlignedBuffer> converted =
      AlignedBuffer::Create(ActivationBytes(max_rows, hidden), "lab moe");
  if (!converted) return std::unexpected(converted.error());
  lab->workspace_ = *std::move(workspace);
  lab->converted_ = *std::move(converted);
  lab->layer_ =
      std::make_unique<MoeLayer>(lab->config_, isa, kNumerics, max_rows, lab->workspace_.data());
  return lab;
}

void LabMoe::Run(const MoeWeights& weights, std::span<const float> x, std::span<float> out) {
  const auto rows = static_cast<std::int64_t>(x.size()) / config_.hidden;
  const Activations converted = ConvertActivations(isa_, kNumerics, x.data(), rows, config_.hidden,
                                                   converted_.data(), *pool_);
  layer_->Run(weights, converted, out.data(), *pool_);
}

std::vector<float> LabMoe::Output(const MoeWeights& weights, std::span<const float> x) {
  std::vector<float> out(x.size());
  Run(weights, x, out);
  return out;
}

}  // namespace folio
