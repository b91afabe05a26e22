// Repacking of weight matrices.
#include <algorithm>
#include <cstring>

#include "kernels/pack_codes.h"
#include "kernels/pack_strip.h"
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

// Elements [first, end) of k, a few at a time so that what is read and written stays in the cache.
void PackFloats(std::int64_t element_bytes, const std::byte* file_rows, std::int64_t rows,
                std::int64_t k, std::int64_t first, std::byte* strip) {
  constexpr std::int64_t kStep = 32;
  for (; first < k; first += kStep) {
    const std::int64_t end = std::min(k, first + kStep);
    for (std::int64_t lane = 0; lane < rows; ++lane) {
      for (std::int64_t i = first; i < end; ++i) {
        const std::byte* from = file_rows + (lane * k + i) * element_bytes;
        std::byte* to = strip + (i * kLanes + lane) * element_bytes;
        if (element_bytes == 4) {
          std::memcpy(to, from, 4);
        } else {
          std::memcpy(to, from, 2);
        }
      }
    }
  }
}

}  // namespace

void PackStripScalar(GgmlType type, const std::byte* file_rows, std::int64_t rows,
                     std::int64_t units, std::byte* strip) {
  const PackedFormat& format = *FindPackedFormat(type);
  const std::int64_t block_bytes = TypeInfo(type).block_bytes;
  std::memset(strip, 0, static_cast<std::size_t>(units * UnitBytes(format)));
  const std::uint8_t flip = StoredFlip(type);
  for (std::int64_t unit = 0; unit < units; ++unit) {
    std::byte* head = strip + HeadOffset(format, unit);
    std::byte* body = strip + BodyOffset(format, unit);
    for (int lane = 0; lane < rows; ++lane) {
      const auto* block =
          reinterpret_cast<const std::uint8_t*>(file_rows + (lane * units + unit) * block_bytes);
      PackScales(format, block, lane, head, body);
      for (int j = 0; j < format.unit_blocks; ++j) {
        std::uint8_t codes[32];
        ReadCodes(type, block, j, codes);
        for (std::uint8_t& code : codes) code ^= flip;
        WriteRecord(format, codes, lane, body + format.scale_bytes + j * BlockBytes(format));
      }
    }
  }
}

std::int64_t FileRowBytes(GgmlType type, std::int64_t k) {
  const GgmlTypeInfo& info = TypeInfo(type);
  return k / info.block_elements * info.block_bytes;
}

std::size_t PackedStripBytes(GgmlType type, std::int64_t k) {
  return static_cast<std::size_t>((FileRowBytes(type, k) * kLanes + 63) / 64 * 64);
}

std::size_t PackedBytes(GgmlType type, std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>((n + kLanes - 1) / kLanes) * PackedStripBytes(type, k);
}

void PackStrip(GgmlType type, const std::byte* file_rows, std::int64_t rows, std::int64_t k,
               std::byte* packed_strip) {
  const GgmlTypeInfo& info = TypeInfo(type);
  const std::int64_t units = k / info.block_elements;
  const std::size_t strip_bytes = PackedStripBytes(type, k);
  const auto used = static_cast<std::size_t>(units * info.block_bytes * kLanes);
  std::memset(packed_strip + used, 0, strip_bytes - used);
  if (FindPackedFormat(type) == nullptr) {
    if (rows < kLanes) std::memset(packed_strip, 0, used);
    std::int64_t done = 0;
    if (rows == kLanes && info.block_bytes == 2 && CpuHas(Isa::kAvx2))
      done = PackWholeStrip16Avx2(file_rows, k, packed_strip);
    PackFloats(info.block_bytes, file_rows, rows, k, done, packed_strip);
  } else if (rows == kLanes && CpuHas(Isa::kAvx2)) {
    PackWholeStripAvx2(type, file_rows, units, info.block_bytes, packed_strip);
  } else {
    PackStripScalar(type, file_rows, rows, units, packed_strip);
  }
}

}  // namespace folio
