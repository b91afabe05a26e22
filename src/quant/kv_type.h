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

// So many elements of a vector take so many bytes, scales included.
struct KvCoding {
  int elements = 1;
  int bytes = 2;
};

constexpr KvCoding KvCodingOf(KvType type) {
  switch (type) {
    case KvType::kBf16:
    case KvType::kF16:
      return {.elements = 1, .bytes = 2};
    case KvType::kF32:
      return {.elements = 1, .bytes = 4};
    case KvType::kQ8_0:
      return {.elements = 32, .bytes = 34};  // 32 int8 and an f16 scale
  }
  return {};
}

// Of the types above, and of q4_0, which other engines store and only a plan knows: 32 of 4 bits
// and an f16 scale.
constexpr std::optional<KvCoding> KvCodingFromName(std::string_view name) {
  if (name == "q4_0") return KvCoding{.elements = 32, .bytes = 18};
  const std::optional<KvType> type = KvTypeFromName(name);
  return type ? std::optional(KvCodingOf(*type)) : std::nullopt;
}

// Bytes of one token's key, or value, of one head: the only place that knows them. A vector's last
// elements take a whole block of the coding.
constexpr std::size_t KvVectorBytes(KvCoding coding, int head_dim) {
  const int blocks = (head_dim + coding.elements - 1) / coding.elements;
  return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(coding.bytes);
}
constexpr std::size_t KvVectorBytes(KvType type, int head_dim) {
  return KvVectorBytes(KvCodingOf(type), head_dim);
}

}  // namespace folio

#endif  // FOLIO_QUANT_KV_TYPE_H_
