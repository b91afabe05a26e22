#include "folio/verify_kernels.h"
#include "engine/numerics_name.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "cpu/aligned_buffer.h"
#include "folio/engine_args.h"
#include "kernels/attention.h"
#include "kernels/product.h"
#include "kvcache/kv_sizing.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr std::int64_t kMostOutputs = 256;  // of a tensor's rows: enough strips, soon done
constexpr std::array<std::int64_t, 4> kRowCounts = {1, 2, 7, 33};
constexpr std::int64_t kPositions = 77;  // several tiles, the last one short

// Values as activations have them: most near zero, a few large.
std::vector<float> RandomValues(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = 2 * UniformAt(seed, 0, static_cast<std::int64_t>(i)) - 1;
    values[i] = static_cast<float>(u * u * u * 4);
  }
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// The tensors to compare: one of each type and width, with as many outputs as are taken.
std::vector<PackedMatrix> Representatives(const ModelWeights& weights) {
  std::map<std::pair<GgmlType, std::int64_t>, PackedMatrix> found;
  const auto offer = [&found](const PackedMatrix& matrix) {
    if (matrix.data == nullptr) return;  // an expert that is not in memory
    PackedMatrix part = matrix;
    if (part.n > kMostOutputs) part.n = kMostOutputs;
    found.try_emplace({matrix.type, matrix.k}, part);
  };
  for (const LayerWeights& layer : weights.layers) {
    ForEachMatrix(layer, offer);
    for (const FfnWeights& expert : layer.moe.experts) ForEachMatrix(expert, offer);
  }
  offer(weights.output);
  std::vector<PackedMatrix> matrices;
  for (const auto& [key, matrix] : found) matrices.push_back(matrix);
  return matrices;
}

std::vector<float> Product(Isa isa, Numerics numerics, const PackedMatrix& weights,
                           const std::vector<float>& x, std::int64_t rows,
                           std::span<std::byte> packed, ThreadPool& pool) {
  std::vector<float> y(static_cast<std::size_t>(rows * weights.n));
  const Activations activations =
      ConvertActivations(isa, numerics, x.data(), rows, weights.k, packed.data(), pool);
  const ProductTarget target{.weights = &weights, .y = y.data(), .ldy = weights.n};
  Multiply(isa, activations, {&target, 1}, pool);
  return y;
}

bool ProductsAgree(Isa isa, Numerics numerics, const PackedMatrix& weights, ThreadPool& pool) {
  for (const std::int64_t rows : kRowCounts) {
    const auto x = RandomValues(static_cast<std::size_t>(rows * weights.k), 17);
    const auto packed = AlignedBuffer::Create(ActivationBytes(rows, weights.k), "verify");
    if (!packed) return false;
    const auto reference = Product(Isa::kScalar, numerics, weights, x, rows, packed->bytes(), pool);
    if (!SameBits(reference, Product(isa, numerics, weights, x, rows, packed->bytes(), pool))) {
      return false;
    }
  }
  return true;
}

// Attention of kPositions tokens of one layer shaped like the model's, over random values.
Result<std::vector<float>> AttentionOutput(Isa isa, const ModelConfig& config, KvType type,
                                           std::int64_t window, ThreadPool& pool) {
  const auto latent_dim = static_cast<int>(config.latent.rank);
  const KvSpec spec{
      .layers = {
          {.kv_heads = config.kv_heads, .head_dim = config.head_dim, .latent_dim = latent_dim}}};
  const Result<KvLayout> layout = LayOutKvBlock(spec, type, kKvTileTokens);
  if (!layout) return std::unexpected(layout.error());
  std::vector<std::int32_t> blocks(
      static_cast<std::size_t>(BlocksForTokens(kPositions, kKvTileTokens)));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::ranges::reverse(blocks);  // physical order is not logical order
  const auto arena = AlignedBuffer::Create(layout->block_bytes * blocks.size(), "verify");
  if (!arena) return std::unexpected(arena.error());
  const KvView kv{.base = arena->data(),
                  .block_stride = static_cast<std::int64_t>(layout->block_bytes),
                  .layer_offset = static_cast<std::int64_t>(layout->layers[0].offset),
                  .head_stride = static_cast<std::int64_t>(layout->layers[0].head_stride),
                  .v_offset = static_cast<std::int64_t>(layout->layers[0].v_offset),
                  .block_size = kKvTileTokens,
                  .kv_heads = config.kv_heads,
                  .head_dim = config.head_dim,
                  .latent_dim = latent_dim,
                  .type = type};
  const AttentionSequence sequence{.block_table = blocks.data(), .rows = kPositions};
  const AttentionParams params{
      .query_heads = config.query_heads, .scale = config.attention_scale, .window = window};
  const auto kv_values = static_cast<std::size_t>(kPositions * config.kv_heads * config.head_dim);
  const auto q_values = static_cast<std::size_t>(kPositions * config.query_heads * config.head_dim);
  const auto k = RandomValues(kv_values, 1);
  const auto v = RandomValues(kv_values, 2);
  const auto q = RandomValues(q_values, 3);
  const auto workspace = AlignedBuffer::Create(
      AttentionWorkspaceBytes(kv, params, {&sequence, 1}, pool.size()), "verify");
  if (!workspace) return std::unexpected(workspace.error());
  std::vector<float> out(
      static_cast<std::size_t>(kPositions * config.query_heads * kv.value_dim()));
  StoreKv(isa, kv, {&sequence, 1}, k.data(), v.data(), pool);
  Attention(isa, kv, params, {&sequence, 1}, q.data(), out.data(), workspace->bytes(), pool);
  return out;
}

}  // namespace

std::vector<Isa> FasterIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (CpuHas(isa)) isas.push_back(isa);
  }
  return isas;
}

std::vector<VerifyCheck> VerifyProducts(LoadedModel& model) {
  std::vector<VerifyCheck> checks;
  for (const PackedMatrix& matrix : Representatives(model.weights())) {
    for (const Isa isa : FasterIsas()) {
      for (const Numerics numerics : {Numerics::kInt8, Numerics::kInt16}) {
        checks.push_back({.name = "product " + std::string(TypeInfo(matrix.type).name) + " k " +
                                  std::to_string(matrix.k),
                          .detail = std::string(IsaName(isa)) + " = scalar, " +
                                    std::string(NumericsName(numerics)),
                          .ok = ProductsAgree(isa, numerics, matrix, model.pool())});
      }
    }
  }
  return checks;
}

std::vector<VerifyCheck> VerifyAttention(LoadedModel& model) {
  std::vector<VerifyCheck> checks;
  const ModelConfig& config = model.config();
  for (const KvType type : {KvType::kBf16, KvType::kF32}) {
    for (const std::int64_t window : {std::int64_t{0}, std::int64_t{40}}) {
      const auto reference = AttentionOutput(Isa::kScalar, config, type, window, model.pool());
      for (const Isa isa : FasterIsas()) {
        const auto output = AttentionOutput(isa, config, type, window, model.pool());
        checks.push_back(
            {.name = "attention " + std::string(KvTypeName(type)) + (window > 0 ? " window" : ""),
             .detail = std::string(IsaName(isa)) + " = scalar",
             .ok = reference && output && SameBits(*reference, *output)});
      }
    }
  }
  return checks;
}

}  // namespace folio
