#include "kvcache/kv_sizing.h"

#include <string>

namespace folio {
namespace {

constexpr int kTileTokens = 16;  // kernels read keys and values in tiles of 16 tokens
constexpr int kHeadDimStep = 32;

}  // namespace

Result<KvLayout> LayOutKvBlock(const KvSpec& spec, KvType type, int block_size) {
  if (block_size <= 0 || block_size % kTileTokens != 0) {
    return UsageError("KV cache", "block size",
                      std::to_string(block_size) + " is not a positive multiple of 16");
  }
  KvLayout layout{.type = type, .block_size = block_size, .block_bytes = 0, .layers = {}};
  layout.layers.reserve(spec.layers.size());
  for (const KvLayerSpec& layer : spec.layers) {
    if (layer.head_dim <= 0 || layer.head_dim % kHeadDimStep != 0) {
      return InputError("KV cache", "head size",
                        std::to_string(layer.head_dim) + " is not a positive multiple of 32");
    }
    const std::size_t plane =
        KvVectorBytes(type, layer.head_dim) * static_cast<std::size_t>(block_size);
    layout.layers.push_back(
        {.offset = layout.block_bytes, .head_stride = 2 * plane, .v_offset = plane});
    layout.block_bytes += 2 * plane * static_cast<std::size_t>(layer.kv_heads);
  }
  return layout;
}

std::size_t KvBytesPerToken(const KvSpec& spec, KvType type) {
  std::size_t bytes = 0;
  for (const KvLayerSpec& layer : spec.layers) {
    bytes += 2 * KvVectorBytes(type, layer.head_dim) * static_cast<std::size_t>(layer.kv_heads);
  }
  return bytes;
}

}  // namespace folio
