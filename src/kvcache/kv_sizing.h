// What a KV block costs and how it is laid out: the one place that knows. The allocator reserves by
// these numbers and the planner prints them.
#ifndef FOLIO_KVCACHE_KV_SIZING_H_
#define FOLIO_KVCACHE_KV_SIZING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "kvcache/kv_spec.h"
#include "quant/kv_type.h"

namespace folio {

// One layer inside a block: for each KV head its keys and then its values, block_size tokens each.
struct KvLayerLayout {
  std::size_t offset = 0;       // bytes from the block's start
  std::size_t head_stride = 0;  // bytes from one KV head to the next
  std::size_t v_offset = 0;     // bytes from a head's keys to its values
};

struct KvLayout {
  KvType type = KvType::kBf16;
  int block_size = 16;
  std::size_t block_bytes = 0;  // all layers; a multiple of 64
  std::vector<KvLayerLayout> layers;
};

// Fails on a block size that is no positive multiple of 16, and on a head size that is no multiple
// of 32.
Result<KvLayout> LayOutKvBlock(const KvSpec& spec, KvType type, int block_size);

// Bytes that one token adds over all layers, each counted as full attention.
std::size_t KvBytesPerToken(const KvSpec& spec, KvType type);

// Blocks that hold `tokens` tokens.
constexpr std::int64_t BlocksForTokens(std::int64_t tokens, int block_size) {
  return (tokens + block_size - 1) / block_size;
}

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_SIZING_H_
