// Where things lie in a packed weight matrix. Constants and address arithmetic only: every product
// path and the packers read this one description.
//
// A matrix is a sequence of strips; a strip holds 16 output rows ("lanes") for all of k:
//
//   float types       [k][16] elements, as stored in the file
//   quantised types   units of one file block each (32 or 256 of k), in order of k; a unit is
//       head    16-bit scales, [field][16 lanes]           (MXFP4: 8-bit exponents)
//       body    sub-scales of the unit (256-element types), then one record for each 32 of k
//
// A record holds the integer codes of 32 k x 16 lanes in bit planes, so that masks and shifts of
// whole registers give pairs of 16-bit weights (k = 2p, 2p + 1), which multiply-add instructions
// take:
//
//   bits     64 bytes:  dword [lane]; code bit of k at bit 16 (k%2) + k/2
//   pairs   128 bytes:  dword [k/16][lane]; two bits at 16 (k%2) + 2 (k%16/2)
//   nibbles 256 bytes:  dword [k/8][lane]; four bits at 16 (k%2) + 4 (k%8/2)
//   bytes   512 bytes:  int8 [k/2][lane][k%2]
//
// A unit whose size is 32 modulo 64 has its 32-byte head behind the body where it stands at an even
// place and before it at an odd one: so bodies start on 64-byte borders with no padding.
#ifndef FOLIO_KERNELS_PACKED_LAYOUT_H_
#define FOLIO_KERNELS_PACKED_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "quant/ggml_type.h"

namespace folio {

constexpr int kLanes = 16;          // output rows in a strip
constexpr int kBlockElements = 32;  // of k: one integer dot product, one activation scale
constexpr int kBitsBytes = 64;      // planes of a record
constexpr int kPairsBytes = 128;
constexpr int kNibblesBytes = 256;
constexpr int kBytesBytes = 512;

struct PackedFormat {
  GgmlType type;
  int unit_blocks;  // blocks of 32 in a unit: 1 or 8
  int head_bytes;   // 16-bit scales
  int scale_bytes;  // sub-scales at the start of the body
  bool bits;        // the planes of a record, in this order
  bool pairs;
  bool nibbles;
  bool bytes;
  int groups;        // scale groups in a block of 32: 1, or 2 of 16 elements
  bool has_minimum;  // a signed offset belongs to each group
};

// Sub-scales: Q4_K, Q5_K and Q3_K keep the file's 12 bytes as three dwords [3][lane]; Q6_K and Q2_K
// have bytes [16 groups][lane]; IQ4_XS has the low nibbles as a dword [lane] (its high bits, 16 a
// row, are the head's second field).
inline constexpr PackedFormat kPackedFormats[] = {
    // type, blocks, head, scales, bits, pairs, nibbles, bytes, groups, minimum
    {GgmlType::kQ4_0, 1, 32, 0, false, false, true, false, 1, false},
    {GgmlType::kQ4_1, 1, 64, 0, false, false, true, false, 1, true},
    {GgmlType::kQ5_0, 1, 32, 0, true, false, true, false, 1, false},
    {GgmlType::kQ5_1, 1, 64, 0, true, false, true, false, 1, true},
    {GgmlType::kQ8_0, 1, 32, 0, false, false, false, true, 1, false},
    {GgmlType::kQ2_K, 8, 64, 256, false, true, false, false, 2, true},
    {GgmlType::kQ3_K, 8, 32, 192, true, true, false, false, 2, false},
    {GgmlType::kQ4_K, 8, 64, 192, false, false, true, false, 1, true},
    {GgmlType::kQ5_K, 8, 64, 192, true, false, true, false, 1, true},
    {GgmlType::kQ6_K, 8, 32, 256, false, true, true, false, 2, false},
    {GgmlType::kIQ4_NL, 1, 32, 0, false, false, true, false, 1, false},
    {GgmlType::kIQ4_XS, 8, 64, 64, false, false, true, false, 1, false},
    {GgmlType::kMXFP4, 1, 16, 0, false, false, true, false, 1, false},
};

// The functions below are static so that no out-of-line copy built for one ISA can be linked into
// another's code.

// The format of a quantised type; null for the float types.
static constexpr const PackedFormat* FindPackedFormat(GgmlType type) {
  for (const PackedFormat& format : kPackedFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

static constexpr int BlockBytes(const PackedFormat& format) {
  return (format.bits ? kBitsBytes : 0) + (format.pairs ? kPairsBytes : 0) +
         (format.nibbles ? kNibblesBytes : 0) + (format.bytes ? kBytesBytes : 0);
}

static constexpr int BodyBytes(const PackedFormat& format) {
  return format.scale_bytes + format.unit_blocks * BlockBytes(format);
}

static constexpr int UnitBytes(const PackedFormat& format) {
  return format.head_bytes + BodyBytes(format);
}

// True if unit `unit`'s head lies behind its body.
static constexpr bool HeadIsLast(const PackedFormat& format, std::int64_t unit) {
  return UnitBytes(format) % 64 == 32 && unit % 2 == 0;
}

// Offsets in the strip of unit `unit`'s head and body.
static constexpr std::int64_t HeadOffset(const PackedFormat& format, std::int64_t unit) {
  return unit * UnitBytes(format) + (HeadIsLast(format, unit) ? BodyBytes(format) : 0);
}

static constexpr std::int64_t BodyOffset(const PackedFormat& format, std::int64_t unit) {
  return unit * UnitBytes(format) + (HeadIsLast(format, unit) ? 0 : format.head_bytes);
}

// The values of the four-bit codes of IQ4_NL and IQ4_XS, and of MXFP4 (doubled: the scale is
// halved).
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr std::int8_t kMxfp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace folio

#endif  // FOLIO_KERNELS_PACKED_LAYOUT_H_
