// The two packers of a quantised strip, and what they share.
#ifndef FOLIO_KERNELS_PACK_STRIP_H_
#define FOLIO_KERNELS_PACK_STRIP_H_

#include <cstddef>
#include <cstdint>

#include "kernels/packed_layout.h"
#include "quant/ggml_type.h"

namespace folio {

// Byte offsets in a file block of its 16-bit head fields and of its sub-scale bytes; -1 if there is
// none.
struct FileScales {
  int first;   // d
  int second;  // m, dmin, or the high scale bits of IQ4_XS
  int sub;
};

static constexpr FileScales FileScalesOf(GgmlType type) {
  switch (type) {
    case GgmlType::kQ4_1:
    case GgmlType::kQ5_1:
      return {0, 2, -1};
    case GgmlType::kQ2_K:
      return {80, 82, 0};
    case GgmlType::kQ3_K:
      return {108, -1, 96};
    case GgmlType::kQ6_K:
      return {208, -1, 192};
    case GgmlType::kQ4_K:
    case GgmlType::kQ5_K:
    case GgmlType::kIQ4_XS:
      return {0, 2, 4};
    default:
      return {0, -1, -1};
  }
}

// Copies one row's scales from its file block to the unit's head and body.
[[gnu::always_inline]] static inline void PackScales(const PackedFormat& format,
                                                     const std::uint8_t* file_block, int lane,
                                                     std::byte* head, std::byte* body) {
  if (format.type == GgmlType::kMXFP4) {
    head[lane] = static_cast<std::byte>(file_block[0]);
    return;
  }
  const FileScales from = FileScalesOf(format.type);
  __builtin_memcpy(head + lane * 2, file_block + from.first, 2);
  if (from.second >= 0) __builtin_memcpy(head + (kLanes + lane) * 2, file_block + from.second, 2);
  if (from.sub < 0) return;
  const std::uint8_t* sub = file_block + from.sub;
  if (format.scale_bytes == 16 * kLanes) {
    for (int g = 0; g < 16; ++g) body[g * kLanes + lane] = static_cast<std::byte>(sub[g]);
  } else {
    for (int dword = 0; dword < format.scale_bytes / 64; ++dword)
      __builtin_memcpy(body + dword * 64 + lane * 4, sub + dword * 4, 4);
  }
}

// A strip of `rows` <= 16 rows of `units` file blocks each; lanes without a row become zero.
void PackStripScalar(GgmlType type, const std::byte* file_rows, std::int64_t rows,
                     std::int64_t units, std::byte* strip);
// The same for 16 rows; leaves the padding behind the last unit alone.
void PackWholeStripAvx2(GgmlType type, const std::byte* file_rows, std::int64_t units,
                        std::int64_t block_bytes, std::byte* strip);
// 16 rows of k 16-bit elements, for the largest multiple of 16 in k, which it returns.
std::int64_t PackWholeStrip16Avx2(const std::byte* file_rows, std::int64_t k, std::byte* strip);

}  // namespace folio

#endif  // FOLIO_KERNELS_PACK_STRIP_H_
