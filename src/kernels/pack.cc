// Repacking of weight matrices at load.
#include <algorithm>
#include <cstring>

#include "kernels/pack_codes.h"
#include "kernels/packed_layout.h"
#include "kernels/product.h"

namespace folio {
namespace {

void OrDword(std::byte* at, std::uint32_t bits) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, 4);
  value |= bits;
  std::memcpy(at, &value, 4);
}

// Puts one row's 32 stored codes into the (zeroed) planes of a record.
void WriteRecord(const PackedFormat& format, const std::uint8_t* codes, int lane,
                 std::byte* record) {
  if (format.bytes) {
    for (int k = 0; k < 32; ++k)
      record[(k / 2 * kLanes + lane) * 2 + k % 2] = static_cast<std::byte>(codes[k]);
    return;
  }
  std::byte* bits = record;
  std::byte* pairs = bits + (format.bits ? kBitsBytes : 0);
  std::byte* nibbles = pairs + (format.pairs ? kPairsBytes : 0);
  for (int k = 0; k < 32; ++k) {
    std::uint32_t code = codes[k];
    const int word = 16 * (k % 2);
    if (format.nibbles) {
      OrDword(nibbles + (k / 8 * kLanes + lane) * 4, (code & 15) << (word + 4 * (k % 8 / 2)));
      code >>= 4;
    }
    if (format.pairs) {
      OrDword(pairs + (k / 16 * kLanes + lane) * 4, (code & 3) << (word + 2 * (k % 16 / 2)));
      code >>= 2;
    }
    if (format.bits) OrDword(bits + lane * 4, (code & 1) << (word + k / 2));
  }
}

// Copies one row's scales to the unit's head and body.
void WriteScales(const PackedFormat& format, const std::uint8_t* file_block, int lane,
                 std::byte* head, std::byte* body) {
  if (format.type == GgmlType::kMXFP4) {
    head[lane] = static_cast<std::byte>(file_block[0]);
    return;
  }
  const FileScales from = FileScaleOffsets(format.type);
  std::memcpy(head + lane * 2, file_block + from.first, 2);
  if (from.second >= 0) std::memcpy(head + (kLanes + lane) * 2, file_block + from.second, 2);
  if (from.sub < 0) return;
  const std::uint8_t* sub = file_block + from.sub;
  if (format.groups == 2 && format.scale_bytes == 16 * kLanes) {
    for (int g = 0; g < 16; ++g) body[g * kLanes + lane] = static_cast<std::byte>(sub[g]);
  } else {
    for (int dword = 0; dword < format.scale_bytes / 64; ++dword)
      std::memcpy(body + dword * 64 + lane * 4, sub + dword * 4, 4);
  }
}

void PackQuantised(const PackedFormat& format, const std::byte* file_rows, std::int64_t rows,
                   std::int64_t k, std::byte* strip) {
  const GgmlTypeInfo& info = TypeInfo(format.type);
  const std::int64_t units = k / info.block_elements;
  const std::uint8_t flip = StoredFlip(format.type);
  for (std::int64_t unit = 0; unit < units; ++unit) {
    std::byte* head = strip + HeadOffset(format, unit);
    std::byte* body = strip + BodyOffset(format, unit);
    for (int lane = 0; lane < rows; ++lane) {
      const auto* block = reinterpret_cast<const std::uint8_t*>(file_rows + (lane * units + unit) *
                                                                                info.block_bytes);
      WriteScales(format, block, lane, head, body);
      for (int j = 0; j < format.unit_blocks; ++j) {
        std::uint8_t codes[32];
        ReadCodes(format.type, block, j, codes);
        for (std::uint8_t& code : codes) code ^= flip;
        WriteRecord(format, codes, lane, body + format.scale_bytes + j * BlockBytes(format));
      }
    }
  }
}

void PackFloats(std::int64_t element_bytes, const std::byte* file_rows, std::int64_t rows,
                std::int64_t k, std::byte* strip) {
  for (std::int64_t lane = 0; lane < rows; ++lane) {
    for (std::int64_t i = 0; i < k; ++i) {
      std::memcpy(strip + (i * kLanes + lane) * element_bytes,
                  file_rows + (lane * k + i) * element_bytes,
                  static_cast<std::size_t>(element_bytes));
    }
  }
}

}  // namespace

std::size_t PackedStripBytes(GgmlType type, std::int64_t k) {
  const GgmlTypeInfo& info = TypeInfo(type);
  const std::int64_t bytes = k / info.block_elements * info.block_bytes * kLanes;
  return static_cast<std::size_t>((bytes + 63) / 64 * 64);
}

std::size_t PackedBytes(GgmlType type, std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>((n + kLanes - 1) / kLanes) * PackedStripBytes(type, k);
}

void PackStrip(GgmlType type, const std::byte* file_rows, std::int64_t rows, std::int64_t k,
               std::byte* packed_strip) {
  std::memset(packed_strip, 0, PackedStripBytes(type, k));
  if (const PackedFormat* format = FindPackedFormat(type)) {
    PackQuantised(*format, file_rows, rows, k, packed_strip);
  } else {
    PackFloats(TypeInfo(type).block_bytes, file_rows, rows, k, packed_strip);
  }
}

}  // namespace folio
