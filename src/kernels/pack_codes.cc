#include "kernels/pack_codes.h"

#include <cstring>

namespace folio {
namespace {

// 16 bytes: byte i holds element i in its low nibble and element i + 16 in its high one.
void ReadSplitNibbles(const std::uint8_t* quants, std::uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = quants[i] & 15;
    codes[i + 16] = quants[i] >> 4;
  }
}

// Nibbles of a 256-element type: blocks 2c and 2c + 1 share 32 bytes.
void ReadSharedNibbles(const std::uint8_t* quants, int j, std::uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] = (quants[32 * (j / 2) + i] >> (4 * (j % 2))) & 15;
}

// Two-bit fields of a 256-element type: four blocks share 32 bytes.
void ReadSharedPairs(const std::uint8_t* quants, int j, std::uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] = (quants[32 * (j / 4) + i] >> (2 * (j % 4))) & 3;
}

void AddBitsOfWord(const std::uint8_t* high, std::uint8_t* codes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, high, 4);
  for (int i = 0; i < 32; ++i) codes[i] |= static_cast<std::uint8_t>(((bits >> i) & 1) << 4);
}

// One byte per element i of all eight blocks; bit j is block j's.
void AddBitsOfBytes(const std::uint8_t* high, int j, int position, std::uint8_t* codes) {
  for (int i = 0; i < 32; ++i)
    codes[i] |= static_cast<std::uint8_t>(((high[i] >> j) & 1) << position);
}

void ReadQ6K(const std::uint8_t* block, int j, std::uint8_t* codes) {
  const std::uint8_t* low = block + 64 * (j / 4) + 32 * (j % 2);
  const std::uint8_t* high = block + 128 + 32 * (j / 4);
  const int low_shift = j % 4 < 2 ? 0 : 4;
  for (int i = 0; i < 32; ++i) {
    const int nibble = (low[i] >> low_shift) & 15;
    const int pair = (high[i] >> (2 * (j % 4))) & 3;
    codes[i] = static_cast<std::uint8_t>(nibble | (pair << 4));
  }
}

}  // namespace

void ReadCodes(GgmlType type, const std::uint8_t* file_block, int j, std::uint8_t* codes) {
  switch (type) {
    case GgmlType::kQ8_0:
      std::memcpy(codes, file_block + 2, 32);
      return;
    case GgmlType::kQ4_0:
    case GgmlType::kIQ4_NL:
      return ReadSplitNibbles(file_block + 2, codes);
    case GgmlType::kQ4_1:
      return ReadSplitNibbles(file_block + 4, codes);
    case GgmlType::kMXFP4:
      return ReadSplitNibbles(file_block + 1, codes);
    case GgmlType::kQ5_0:
      ReadSplitNibbles(file_block + 6, codes);
      return AddBitsOfWord(file_block + 2, codes);
    case GgmlType::kQ5_1:
      ReadSplitNibbles(file_block + 8, codes);
      return AddBitsOfWord(file_block + 4, codes);
    case GgmlType::kQ2_K:
      return ReadSharedPairs(file_block + 16, j, codes);
    case GgmlType::kQ3_K:
      ReadSharedPairs(file_block + 32, j, codes);
      return AddBitsOfBytes(file_block, j, 2, codes);
    case GgmlType::kQ4_K:
      return ReadSharedNibbles(file_block + 16, j, codes);
    case GgmlType::kQ5_K:
      ReadSharedNibbles(file_block + 48, j, codes);
      return AddBitsOfBytes(file_block + 16, j, 4, codes);
    case GgmlType::kQ6_K:
      return ReadQ6K(file_block, j, codes);
    case GgmlType::kIQ4_XS:
      return ReadSplitNibbles(file_block + 8 + 16 * j, codes);
    case GgmlType::kF32:
    case GgmlType::kF16:
    case GgmlType::kBF16:
      return;
  }
}

std::uint8_t StoredFlip(GgmlType type) {
  switch (type) {
    case GgmlType::kQ4_0:
      return 8;
    case GgmlType::kQ5_0:
      return 16;
    case GgmlType::kQ3_K:
      return 4;
    default:
      return 0;
  }
}

}  // namespace folio
