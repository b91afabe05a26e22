// How keys and values are stored in the cache (--kv-type).
#ifndef FOLIO_QUANT_KV_TYPE_H_
#define FOLIO_QUANT_KV_TYPE_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace folio {

enum class KvType { kBf16, kF16, kF32, kQ8_0 };

constexpr std::string_view KvTypeName(KvType type) {
  switch (type) {
    case KvType::kBf16:
      return "bf16";
    case KvType::kF16:
      return "f16";
    case KvType::kF32:
      return "f32";
    case KvType::kQ8_0:
      return "q8_0";
  }
  return "unknown";
}

constexpr std::optional<KvType> KvTypeFromName(std::string_view name) {
  for (const KvType type : {KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0}) {
    if (KvTypeName(type) == name) return type;
  }
  return std::nullopt;
}

// Bytes of one token's key, or value, of one head: the only place that knows them. head_dim is a
// multiple of 32.
constexpr std::size_t KvVectorBytes(KvType type, int head_dim) {
  const auto dim = static_cast<std::size_t>(head_dim);
  switch (type) {
    case KvType::kBf16:
    case KvType::kF16:
      return 2 * dim;
    case KvType::kF32:
      return 4 * dim;
    case KvType::kQ8_0:
      return dim / 32 * 34;  // 32 int8 and an f16 scale
  }
  return 0;
}

}  // namespace folio

#endif  // FOLIO_QUANT_KV_TYPE_H_
