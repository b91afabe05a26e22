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

constexpr int kMostHeadDim = 1 << 20;

int ValueDim(const KvLayerSpec& layer) {
  if (layer.latent_dim != 0) return 0;
  return layer.value_dim == 0 ? layer.head_dim : layer.value_dim;
}

// Bytes of a token's key and value of one head.
std::size_t HeadBytes(const KvLayerSpec& layer, const KvCodings& codings) {
  return KvVectorBytes(codings.keys, layer.head_dim) +
         KvVectorBytes(codings.values, ValueDim(layer));
}

// What the kernels can't read.
Status CheckForKernels(const KvLayerSpec& layer) {
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
  if (layer.latent_dim == 0 && ValueDim(layer) != layer.head_dim) {
    return InputError(
        "KV cache", "value size",
        std::to_string(layer.value_dim) + " is not the keys' " + std::to_string(layer.head_dim));
  }
  return {};
}

Status CheckLayer(const KvLayerSpec& layer) {
  if (layer.head_dim <= 0 || layer.head_dim > kMostHeadDim) {
    return InputError("KV cache", "head size", std::to_string(layer.head_dim) + " is no size");
  }
  if (layer.value_dim < 0 || layer.value_dim > kMostHeadDim) {
    return InputError("KV cache", "value size", std::to_string(layer.value_dim) + " is no size");
  }
  if (layer.latent_dim < 0 || layer.latent_dim > layer.head_dim) {
    return InputError("KV cache", "latent size",
                      std::to_string(layer.latent_dim) + " is not within the head size " +
                          std::to_string(layer.head_dim));
  }
  if (layer.kv_heads <= 0) {
    return InputError("KV cache", "KV heads",
                      std::to_string(layer.kv_heads) + " is not a positive number");
  }
  if (layer.window < 0) {
    return InputError("KV cache", "window", std::to_string(layer.window) + " is negative");
  }
  return {};
}

// Bytes of one layer's keys and values of all heads in a block.
Result<std::size_t> LayerBlockBytes(const KvLayerSpec& layer, const KvCodings& codings,
                                    int block_size) {
  if (Status checked = CheckLayer(layer); !checked) return std::unexpected(checked.error());
  const auto head = CheckedMul(HeadBytes(layer, codings), static_cast<std::size_t>(block_size));
  const auto bytes =
      head ? CheckedMul(*head, static_cast<std::size_t>(layer.kv_heads)) : std::nullopt;
  if (!bytes) return InputError("KV cache", "block", "its bytes do not fit 64 bits");
  return *bytes;
}

// The sizes of all layers; their sum, times the layers once more, fits 64 bits.
Result<std::vector<LayerSize>> LayerSizes(const KvSpec& spec, const KvCodings& codings,
                                          int block_size) {
  std::vector<LayerSize> sizes;
  sizes.reserve(spec.layers.size());
  std::size_t largest = 0;
  for (const KvLayerSpec& layer : spec.layers) {
    const Result<std::size_t> bytes = LayerBlockBytes(layer, codings, block_size);
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

Result<KvLayout> LayOutKvGroups(const KvSpec& spec, const KvCodings& codings, int block_size) {
  if (block_size <= 0 || block_size % kTileTokens != 0) {
    return UsageError("KV cache", "block size",
                      std::to_string(block_size) + " is not a positive multiple of 16");
  }
  if (spec.layers.empty()) return InputError("KV cache", "layers", "there are none");
  const Result<std::vector<LayerSize>> sizes = LayerSizes(spec, codings, block_size);
  if (!sizes) return std::unexpected(sizes.error());

  LayerGrouping grouping = GroupLayers(*sizes, kMaxKvGroups);
  KvLayout layout{.block_size = block_size};
  layout.block_bytes = (grouping.block_bytes + kAlignment - 1) / kAlignment * kAlignment;
  layout.padding_bytes =
      grouping.padding_bytes + (layout.block_bytes - grouping.block_bytes) * grouping.groups.size();
  for (std::vector<int>& members : grouping.groups) {
    const std::int64_t window = spec.layers[static_cast<std::size_t>(members.front())].window;
    layout.groups.push_back({.window = window, .layers = std::move(members)});
  }
  return layout;
}

Result<KvLayout> LayOutKvBlock(const KvSpec& spec, KvType type, int block_size) {
  for (const KvLayerSpec& layer : spec.layers) {
    if (Status readable = CheckForKernels(layer); !readable)
      return std::unexpected(readable.error());
  }
  const KvCodings codings = KvCodingsOf(type);
  Result<KvLayout> layout = LayOutKvGroups(spec, codings, block_size);
  if (!layout) return layout;
  layout->type = type;
  layout->layers.resize(spec.layers.size());
  for (std::size_t group = 0; group < layout->groups.size(); ++group) {
    std::size_t offset = 0;
    for (const int index : layout->groups[group].layers) {
      const KvLayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
      const auto tokens = static_cast<std::size_t>(block_size);
      const std::size_t keys = KvVectorBytes(type, layer.head_dim) * tokens;
      const std::size_t head = HeadBytes(layer, codings) * tokens;
      layout->layers[static_cast<std::size_t>(index)] = {
          .group = static_cast<int>(group),
          .offset = offset,
          .head_stride = head,
          .v_offset = layer.latent_dim == 0 ? keys : 0};
      offset += head * static_cast<std::size_t>(layer.kv_heads);
    }
  }
  return layout;
}

std::vector<KvGroupSpec> GroupSpecs(const KvLayout& layout) {
  std::vector<KvGroupSpec> specs;
  for (const KvGroup& group : layout.groups) specs.push_back({.window = group.window});
  return specs;
}

std::size_t KvBytesPerToken(const KvLayerSpec& layer, const KvCodings& codings) {
  return HeadBytes(layer, codings) * static_cast<std::size_t>(layer.kv_heads);
}

std::size_t KvBytesPerToken(const KvSpec& spec, const KvCodings& codings) {
  std::size_t bytes = 0;
  for (const KvLayerSpec& layer : spec.layers) bytes += KvBytesPerToken(layer, codings);
  return bytes;
}

}  // namespace folio
