#include "quant/ggml_type.h"

#include <array>
#include <cstddef>

namespace folio {
namespace {

constexpr std::array<GgmlTypeInfo, 16> kTypes = {{
    {GgmlType::kF32, "F32", 1, 4},
    {GgmlType::kF16, "F16", 1, 2},
    {GgmlType::kQ4_0, "Q4_0", 32, 18},
    {GgmlType::kQ4_1, "Q4_1", 32, 20},
    {GgmlType::kQ5_0, "Q5_0", 32, 22},
    {GgmlType::kQ5_1, "Q5_1", 32, 24},
    {GgmlType::kQ8_0, "Q8_0", 32, 34},
    {GgmlType::kQ2_K, "Q2_K", 256, 84},
    {GgmlType::kQ3_K, "Q3_K", 256, 110},
    {GgmlType::kQ4_K, "Q4_K", 256, 144},
    {GgmlType::kQ5_K, "Q5_K", 256, 176},
    {GgmlType::kQ6_K, "Q6_K", 256, 210},
    {GgmlType::kIQ4_NL, "IQ4_NL", 32, 18},
    {GgmlType::kIQ4_XS, "IQ4_XS", 256, 136},
    {GgmlType::kBF16, "BF16", 1, 2},
    {GgmlType::kMXFP4, "MXFP4", 32, 17},
}};

}  // namespace

std::span<const GgmlTypeInfo> AllGgmlTypes() { return kTypes; }

const GgmlTypeInfo& TypeInfo(GgmlType type) {
  std::size_t i = 0;
  while (kTypes[i].type != type) ++i;
  return kTypes[i];
}

std::optional<GgmlType> GgmlTypeFromId(std::uint32_t id) {
  for (const GgmlTypeInfo& info : kTypes) {
    if (static_cast<std::uint32_t>(info.type) == id) return info.type;
  }
  return std::nullopt;
}

}  // namespace folio
