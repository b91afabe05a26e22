// Packing of whole strips with AVX2: the same bytes as pack.cc's plain code, at the speed of
// memory, since loading a model is mostly this.
#include <immintrin.h>

#include <cstring>

#include "kernels/pack_strip.h"
#include "kernels/packed_layout.h"

namespace folio {
namespace {

// Two rows at a time: 16 bytes of the one in the low half, of the other in the high half.
__m256i LoadTwo(const std::uint8_t* a, const std::uint8_t* b) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)), 1);
}

__m256i ShiftRight(__m256i a, int bits) { return _mm256_srl_epi16(a, _mm_cvtsi32_si128(bits)); }

// The codes of 32 k of two rows, a byte each: k 0-15, and k 16-31.
struct CodeBytes {
  __m256i first;
  __m256i second;
};

CodeBytes Masked(__m256i first, __m256i second, int shift, char mask) {
  const __m256i bits = _mm256_set1_epi8(mask);
  return {_mm256_and_si256(ShiftRight(first, shift), bits),
          _mm256_and_si256(ShiftRight(second, shift), bits)};
}

// Where the planes of a type's codes are in its file block.
struct FilePlanes {
  int nibbles;
  int bits;
  int pairs;
};

constexpr FilePlanes PlanesOf(GgmlType type) {
  switch (type) {
    case GgmlType::kQ4_1:
      return {4, 0, 0};
    case GgmlType::kQ5_0:
      return {6, 2, 0};
    case GgmlType::kQ5_1:
      return {8, 4, 0};
    case GgmlType::kQ2_K:
      return {0, 0, 16};
    case GgmlType::kQ3_K:
      return {0, 0, 32};
    case GgmlType::kQ4_K:
      return {16, 0, 0};
    case GgmlType::kQ5_K:
      return {48, 16, 0};
    case GgmlType::kQ6_K:
      return {0, 0, 128};
    case GgmlType::kIQ4_XS:
      return {8, 0, 0};
    case GgmlType::kMXFP4:
      return {1, 0, 0};
    default:
      return {2, 0, 0};
  }
}

template <GgmlType kType>
CodeBytes LoadNibbles(const std::uint8_t* a, const std::uint8_t* b, int j) {
  constexpr int kAt = PlanesOf(kType).nibbles;
  if constexpr (kType == GgmlType::kQ4_K || kType == GgmlType::kQ5_K) {
    const int at = kAt + 32 * (j / 2);
    return Masked(LoadTwo(a + at, b + at), LoadTwo(a + at + 16, b + at + 16), 4 * (j % 2), 15);
  } else if constexpr (kType == GgmlType::kQ6_K) {
    const int at = kAt + 64 * (j / 4) + 32 * (j % 2);
    return Masked(LoadTwo(a + at, b + at), LoadTwo(a + at + 16, b + at + 16), j % 4 < 2 ? 0 : 4,
                  15);
  } else {
    const int at = kAt + 16 * j;  // j is 0 but for IQ4_XS
    __m256i both = LoadTwo(a + at, b + at);
    if constexpr (kType == GgmlType::kQ4_0) both = _mm256_xor_si256(both, _mm256_set1_epi8(-120));
    return Masked(both, _mm256_srli_epi16(both, 4), 0, 15);
  }
}

// Byte pairs (2i, 2i + 1) become one byte: low + high * factor. The result's bytes are in words.
__m256i Join(__m256i bytes, int factor) {
  return _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(static_cast<short>(1 | (factor << 8))));
}

// 32 nibble bytes of two rows to four dwords each, one for 8 k: even k in the low word.
__m256i PackNibbles(CodeBytes codes) {
  const __m256i order = _mm256_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15, 0, 2,
                                         4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  return _mm256_packus_epi16(Join(_mm256_shuffle_epi8(codes.first, order), 16),
                             Join(_mm256_shuffle_epi8(codes.second, order), 16));
}

// 32 two-bit bytes of two rows to two dwords each (in the low 8 bytes of each half).
__m256i PackPairs(CodeBytes codes) {
  const __m256i order = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 0, 2,
                                         4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
  const __m256i halves = _mm256_packus_epi16(Join(_mm256_shuffle_epi8(codes.first, order), 4),
                                             Join(_mm256_shuffle_epi8(codes.second, order), 4));
  const __m256i words = Join(halves, 16);
  return _mm256_packus_epi16(words, words);
}

// rows[i] holds four dwords of row i and of row i + 4; stores dword c of the 8 rows at to + 64 c.
void StoreTransposed(const __m256i* rows, std::byte* to) {
  const __m256i a = _mm256_unpacklo_epi32(rows[0], rows[1]);
  const __m256i b = _mm256_unpackhi_epi32(rows[0], rows[1]);
  const __m256i c = _mm256_unpacklo_epi32(rows[2], rows[3]);
  const __m256i d = _mm256_unpackhi_epi32(rows[2], rows[3]);
  const __m256i dwords[4] = {_mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c),
                             _mm256_unpacklo_epi64(b, d), _mm256_unpackhi_epi64(b, d)};
  for (int i = 0; i < 4; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 64 * i), dwords[i]);
}

// Even bits to the low half, odd bits to the high half.
std::uint32_t Unshuffle(std::uint32_t x) {
  std::uint32_t t = (x ^ (x >> 1)) & 0x22222222U;
  x ^= t ^ (t << 1);
  t = (x ^ (x >> 2)) & 0x0c0c0c0cU;
  x ^= t ^ (t << 2);
  t = (x ^ (x >> 4)) & 0x00f000f0U;
  x ^= t ^ (t << 4);
  t = (x ^ (x >> 8)) & 0x0000ff00U;
  return x ^ t ^ (t << 8);
}

// The single bits of 32 k of a row, in the packed order.
template <GgmlType kType>
std::uint32_t LoadBits(const std::uint8_t* block, int j) {
  std::uint32_t bits = 0;
  if constexpr (kType == GgmlType::kQ5_0 || kType == GgmlType::kQ5_1) {
    std::memcpy(&bits, block + PlanesOf(kType).bits, 4);
  } else {
    const __m256i bytes =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + PlanesOf(kType).bits));
    bits = static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_sll_epi16(bytes, _mm_cvtsi32_si128(7 - j))));
  }
  if constexpr (kType == GgmlType::kQ5_0 || kType == GgmlType::kQ3_K) bits = ~bits;
  return Unshuffle(bits);
}

// 16 rows of 16 words, which start `offset` bytes from each of `rows`, to [word][row].
void TransposeWords(const std::uint8_t* const* rows, std::int64_t offset, std::byte* to) {
  __m256i sides[2][8];  // [rows 0-7, rows 8-15]: word i of the rows, and word 8 + i
  for (int side = 0; side < 2; ++side) {
    __m256i r[8];
    for (int i = 0; i < 8; ++i)
      r[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[8 * side + i] + offset));
    __m256i s[8];
    for (int i = 0; i < 4; ++i) {
      s[2 * i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
      s[2 * i + 1] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; ++i) {
      r[4 * i] = _mm256_unpacklo_epi32(s[4 * i], s[4 * i + 2]);
      r[4 * i + 1] = _mm256_unpackhi_epi32(s[4 * i], s[4 * i + 2]);
      r[4 * i + 2] = _mm256_unpacklo_epi32(s[4 * i + 1], s[4 * i + 3]);
      r[4 * i + 3] = _mm256_unpackhi_epi32(s[4 * i + 1], s[4 * i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
      sides[side][2 * i] = _mm256_unpacklo_epi64(r[i], r[4 + i]);
      sides[side][2 * i + 1] = _mm256_unpackhi_epi64(r[i], r[4 + i]);
    }
  }
  for (int i = 0; i < 8; ++i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32 * i),
                        _mm256_permute2x128_si256(sides[0][i], sides[1][i], 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32 * (8 + i)),
                        _mm256_permute2x128_si256(sides[0][i], sides[1][i], 0x31));
  }
}

// Block j of 16 file blocks, one a lane, to its record.
template <GgmlType kType>
void PackRecord(const std::uint8_t* const* blocks, int j, std::byte* record) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  if constexpr (kFormat.bytes) return TransposeWords(blocks, 2, record);  // int8, two by two
  std::byte* to = record;
  if constexpr (kFormat.bits) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t bits = LoadBits<kType>(blocks[lane], j);
      std::memcpy(to + lane * 4, &bits, 4);
    }
    to += kBitsBytes;
  }
  if constexpr (kFormat.pairs) {
    const int at = PlanesOf(kType).pairs + 32 * (j / 4);
    for (int lane = 0; lane < kLanes; lane += 8) {
      __m256i rows[4];
      for (int i = 0; i < 4; ++i) {
        const std::uint8_t* a = blocks[lane + i] + at;
        const std::uint8_t* b = blocks[lane + i + 4] + at;
        rows[i] = PackPairs(Masked(LoadTwo(a, b), LoadTwo(a + 16, b + 16), 2 * (j % 4), 3));
      }
      const __m256i low = _mm256_unpacklo_epi32(rows[0], rows[1]);
      const __m256i high = _mm256_unpacklo_epi32(rows[2], rows[3]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + lane * 4),
                          _mm256_unpacklo_epi64(low, high));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 64 + lane * 4),
                          _mm256_unpackhi_epi64(low, high));
    }
    to += kPairsBytes;
  }
  if constexpr (kFormat.nibbles) {
    for (int lane = 0; lane < kLanes; lane += 8) {
      __m256i rows[4];
      for (int i = 0; i < 4; ++i)
        rows[i] = PackNibbles(LoadNibbles<kType>(blocks[lane + i], blocks[lane + i + 4], j));
      StoreTransposed(rows, to + lane * 4);
    }
  }
}

template <GgmlType kType>
void PackUnits(const std::byte* file_rows, std::int64_t units, std::int64_t block_bytes,
               std::byte* strip) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  const std::uint8_t* blocks[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    blocks[lane] = reinterpret_cast<const std::uint8_t*>(file_rows) + lane * units * block_bytes;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    std::byte* head = strip + HeadOffset(kFormat, unit);
    std::byte* body = strip + BodyOffset(kFormat, unit);
    for (int lane = 0; lane < kLanes; ++lane) PackScales(kFormat, blocks[lane], lane, head, body);
    for (int j = 0; j < kFormat.unit_blocks; ++j)
      PackRecord<kType>(blocks, j, body + kFormat.scale_bytes + j * BlockBytes(kFormat));
    for (const std::uint8_t*& block : blocks) block += block_bytes;
  }
}

}  // namespace

void PackWholeStripAvx2(GgmlType type, const std::byte* file_rows, std::int64_t units,
                        std::int64_t block_bytes, std::byte* strip) {
  switch (type) {
    case GgmlType::kQ4_0:
      return PackUnits<GgmlType::kQ4_0>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ4_1:
      return PackUnits<GgmlType::kQ4_1>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ5_0:
      return PackUnits<GgmlType::kQ5_0>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ5_1:
      return PackUnits<GgmlType::kQ5_1>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ8_0:
      return PackUnits<GgmlType::kQ8_0>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ2_K:
      return PackUnits<GgmlType::kQ2_K>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ3_K:
      return PackUnits<GgmlType::kQ3_K>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ4_K:
      return PackUnits<GgmlType::kQ4_K>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ5_K:
      return PackUnits<GgmlType::kQ5_K>(file_rows, units, block_bytes, strip);
    case GgmlType::kQ6_K:
      return PackUnits<GgmlType::kQ6_K>(file_rows, units, block_bytes, strip);
    case GgmlType::kIQ4_NL:
      return PackUnits<GgmlType::kIQ4_NL>(file_rows, units, block_bytes, strip);
    case GgmlType::kIQ4_XS:
      return PackUnits<GgmlType::kIQ4_XS>(file_rows, units, block_bytes, strip);
    case GgmlType::kMXFP4:
      return PackUnits<GgmlType::kMXFP4>(file_rows, units, block_bytes, strip);
    case GgmlType::kF32:
    case GgmlType::kF16:
    case GgmlType::kBF16:
      return;
  }
}

std::int64_t PackWholeStrip16Avx2(const std::byte* file_rows, std::int64_t k, std::byte* strip) {
  const std::uint8_t* rows[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    rows[lane] = reinterpret_cast<const std::uint8_t*>(file_rows) + lane * k * 2;
  std::int64_t first = 0;
  for (; first + 16 <= k; first += 16) TransposeWords(rows, first * 2, strip + first * kLanes * 2);
  return first;
}

}  // namespace folio
