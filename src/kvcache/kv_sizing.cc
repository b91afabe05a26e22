#include "kvcache/kv_sizing.h"

#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "kvcache/kv_groups.h"

namespace folio {
namespace {

constexpr int kTileTokens = 16;  // kernels read keys and values in tiles of 16 tokens
constexpr int kHeadDimStep = 32;
constexpr std::size_t kAlignment = 64;

// Vectors that are stored for a token and head: a key, and a value unless the key holds it.
std::size_t Vectors(const KvLayerSpec& layer) { return layer.latent_dim == 0 ? 2 : 1; }

// Bytes of one layer's keys and values of all heads in a block.
Result<std::size_t> LayerBlockBytes(const KvLayerSpec& layer, KvType type, int block_size) {
  if (layer.head_dim <= 0 || layer.head_dim % kHeadDimStep != 0) {
    return InputError("KV cache", "head size",
                      std::to_string(layer.head_dim) + " is not a positive multiple of 32");
  }
  if (layer.latent_dim < 0 || layer.latent_dim >= layer.head_dim ||
      layer.latent_dim % kHeadDimStep != 0) {
    return InputError("KV cache", "latent size",
                      std::to_string(layer.latent_dim) +
                          " is not a multiple of 32 within the head size " +
                          std::to_string(layer.head_dim));
  }
  if (layer.kv_heads <= 0) {
    return InputError("KV cache", "KV heads",
                      std::to_string(layer.kv_heads) + " is not a positive number");
  }
  if (layer.window < 0) {
    return InputError("KV cache", "window", std::to_string(layer.window) + " is negative");
  }
  const auto head = CheckedMul(Vectors(layer) * KvVectorBytes(type, layer.head_dim),
                               static_cast<std::size_t>(block_size));
  const auto bytes =
      head ? CheckedMul(*head, static_cast<std::size_t>(layer.kv_heads)) : std::nullopt;
  if (!bytes) return InputError("KV cache", "block", "its bytes do not fit 64 bits");
  return *bytes;
}

// The sizes of all layers; their sum, times the layers once more, fits 64 bits.
Result<std::vector<LayerSize>> LayerSizes(const KvSpec& spec, KvType type, int block_size) {
  std::vector<LayerSize> sizes;
  sizes.reserve(spec.layers.size());
  std::size_t largest = 0;
  for (const KvLayerSpec& layer : spec.layers) {
    const Result<std::size_t> bytes = LayerBlockBytes(layer, type, block_size);
    if (!bytes) return std::unexpected(bytes.error());
    sizes.push_back({.window = layer.window, .bytes = *bytes});
    largest = std::max(largest, *bytes);
  }
  const auto row = CheckedMul(largest, sizes.size());
  if (!row || !CheckedMul(*row, sizes.size())) {
    return InputError("KV cache", "block", "its bytes do not fit 64 bits");
  }
  return sizes;
}

}  // namespace

Result<KvLayout> LayOutKvBlock(const KvSpec& spec, KvType type, int block_size) {
  if (block_size <= 0 || block_size % kTileTokens != 0) {
    return UsageError("KV cache", "block size",
                      std::to_string(block_size) + " is not a positive multiple of 16");
  }
  if (spec.layers.empty()) return InputError("KV cache", "layers", "there are none");
  const Result<std::vector<LayerSize>> sizes = LayerSizes(spec, type, block_size);
  if (!sizes) return std::unexpected(sizes.error());

  LayerGrouping grouping = GroupLayers(*sizes, kMaxKvGroups);
  KvLayout layout{.type = type, .block_size = block_size};
  layout.block_bytes = (grouping.block_bytes + kAlignment - 1) / kAlignment * kAlignment;
  layout.padding_bytes =
      grouping.padding_bytes + (layout.block_bytes - grouping.block_bytes) * grouping.groups.size();
  layout.layers.resize(spec.layers.size());
  for (std::vector<int>& members : grouping.groups) {
    std::size_t offset = 0;
    for (const int layer : members) {
      const auto i = static_cast<std::size_t>(layer);
      const std::size_t plane =
          KvVectorBytes(type, spec.layers[i].head_dim) * static_cast<std::size_t>(block_size);
      layout.layers[i] = {.group = static_cast<int>(layout.groups.size()),
                          .offset = offset,
                          .head_stride = Vectors(spec.layers[i]) * plane,
                          .v_offset = spec.layers[i].latent_dim == 0 ? plane : 0};
      offset += (*sizes)[i].bytes;
    }
    const std::int64_t window = spec.layers[static_cast<std::size_t>(members.front())].window;
    layout.groups.push_back({.window = window, .layers = std::move(members)});
  }
  return layout;
}

std::vector<KvGroupSpec> GroupSpecs(const KvLayout& layout) {
  std::vector<KvGroupSpec> specs;
  for (const KvGroup& group : layout.groups) specs.push_back({.window = group.window});
  return specs;
}

std::size_t KvBytesPerToken(const KvSpec& spec, KvType type) {
  std::size_t bytes = 0;
  for (const KvLayerSpec& layer : spec.layers) {
    bytes += Vectors(layer) * KvVectorBytes(type, layer.head_dim) *
             static_cast<std::size_t>(layer.kv_heads);
  }
  return bytes;
}

}  // namespace folio
