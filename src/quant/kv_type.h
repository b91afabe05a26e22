// How keys and values are stored in the cache (--kv-type).
#ifndef FOLIO_QUANT_KV_TYPE_H_
#define FOLIO_QUANT_KV_TYPE_H_

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

}  // namespace folio

#endif  // FOLIO_QUANT_KV_TYPE_H_
