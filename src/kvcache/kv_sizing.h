// What a KV block costs and how it is laid out: the one place that knows. The allocator reserves by
// these numbers and the planner prints them.
#ifndef FOLIO_KVCACHE_KV_SIZING_H_
#define FOLIO_KVCACHE_KV_SIZING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "kvcache/kv_group_spec.h"
#include "kvcache/kv_spec.h"
#include "quant/kv_type.h"

namespace folio {

// Layers that keep the same tokens and share block tables. All groups' blocks have the same size in
// bytes, so that one pool serves them.
struct KvGroup {
  std::int64_t window = 0;  // 0 = all positions
  std::vector<int> layers;  // rising
};

// One layer inside its group's block: for each KV head its keys and then its values, block_size
// tokens each.
struct KvLayerLayout {
  int group = 0;
  std::size_t offset = 0;       // bytes from the block's start
  std::size_t head_stride = 0;  // bytes from one KV head to the next
  std::size_t v_offset = 0;     // bytes from a head's keys to its values; 0: the keys hold them
};

struct KvLayout {
  KvType type = KvType::kBf16;
  int block_size = 16;
  std::size_t block_bytes = 0;  // one group's layers, padding included; a multiple of 64
  std::vector<KvGroup> groups;
  std::vector<KvLayerLayout> layers;  // one a layer of the model
  std::size_t padding_bytes = 0;  // wasted by unequal groups, in one block of each group together
};

// More groups than this cost more in tables and look-ups than the padding of fewer.
inline constexpr std::size_t kMaxKvGroups = 16;

// Groups the layers and lays out a block. Layers are split by window; the groups' size is the one
// that wastes least of a long sequence with at most kMaxKvGroups groups (3 layers for 3 full and 15
// windowed ones: 1 + 5 groups), and of those the largest. Only a model with more than kMaxKvGroups
// different windows gets more groups. Fails on a block size that is no positive multiple of 16, on
// a head size that is no multiple of 32, and on a model without layers or heads.
Result<KvLayout> LayOutKvBlock(const KvSpec& spec, KvType type, int block_size);

// How keys and values are stored, which need not be the same.
struct KvCodings {
  KvCoding keys;
  KvCoding values;
};

constexpr KvCodings KvCodingsOf(KvType type) { return {KvCodingOf(type), KvCodingOf(type)}; }

// The same groups and block size for what no kernel reads: any head size, keys and values of two
// types. `type` and `layers` of the layout are not set.
Result<KvLayout> LayOutKvGroups(const KvSpec& spec, const KvCodings& codings, int block_size);

// Bytes that one token adds in a layer, and over all layers, each counted as full attention.
std::size_t KvBytesPerToken(const KvLayerSpec& layer, const KvCodings& codings);
std::size_t KvBytesPerToken(const KvSpec& spec, const KvCodings& codings);
inline std::size_t KvBytesPerToken(const KvSpec& spec, KvType type) {
  return KvBytesPerToken(spec, KvCodingsOf(type));
}

// Blocks that hold `tokens` tokens.
constexpr std::int64_t BlocksForTokens(std::int64_t tokens, int block_size) {
  return (tokens + block_size - 1) / block_size;
}

// Blocks that a sequence of `tokens` holds at most in a group with this window (0 = all), if it is
// computed in chunks of at most `chunk` rows and leaves what no later position sees after each.
// During a chunk, window - 1 positions before it are seen and all of its own: a run of n positions
// touches at most ceil((n - 1) / block_size) + 1 blocks.
constexpr std::int64_t BlocksHeldAtMost(std::int64_t tokens, std::int64_t window,
                                        std::int64_t chunk, int block_size) {
  const std::int64_t all = BlocksForTokens(tokens, block_size);
  if (window == 0 || tokens <= 0) return all;
  const std::int64_t rows = std::clamp<std::int64_t>(chunk, 1, tokens);
  if (window >= tokens) return all;
  return std::min(all, BlocksForTokens(window + rows - 2, block_size) + 1);
}

// The same over all groups of a model.
constexpr std::int64_t BlocksHeldAtMost(std::int64_t tokens, std::span<const KvGroupSpec> groups,
                                        std::int64_t chunk, int block_size) {
  std::int64_t blocks = 0;
  for (const KvGroupSpec& group : groups) {
    blocks += BlocksHeldAtMost(tokens, group.window, chunk, block_size);
  }
  return blocks;
}

// What the cache, which knows no layers, needs to know of a layout's groups.
std::vector<KvGroupSpec> GroupSpecs(const KvLayout& layout);

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_SIZING_H_
