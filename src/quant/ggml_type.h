// The tensor element types of GGUF files that Folio reads: their ids, names and block sizes.
// Source: the GGUF specification's ggml_type table and the block structs that the `gguf` Python
// package documents.
#ifndef FOLIO_QUANT_GGML_TYPE_H_
#define FOLIO_QUANT_GGML_TYPE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace folio {

// Values are the ids in the file.
enum class GgmlType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kIQ4_NL = 20,
  kIQ4_XS = 23,
  kBF16 = 30,
  kMXFP4 = 39,
};

struct GgmlTypeInfo {
  GgmlType type;
  std::string_view name;  // as in file listings: "Q4_K"
  std::int64_t block_elements;
  std::int64_t block_bytes;
};

// All types above, in order of id.
std::span<const GgmlTypeInfo> AllGgmlTypes();
const GgmlTypeInfo& TypeInfo(GgmlType type);
// The type with this id, or nothing if Folio does not know it.
std::optional<GgmlType> GgmlTypeFromId(std::uint32_t id);

}  // namespace folio

#endif  // FOLIO_QUANT_GGML_TYPE_H_
