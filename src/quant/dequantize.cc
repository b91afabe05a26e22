#include "quant/dequantize.h"

#include <array>
#include <bit>
#include <cstring>

#include "quant/half.h"

namespace folio {
namespace {

// Layouts below are in bytes from a block's start. "Group" is the run of elements that shares a
// scale inside a 256-element block. Each value is computed as float(d) * float(scale), then
// * float(q), then minus or plus the minimum: every step rounded once, in that order.

constexpr int kSuper = 256;  // elements in a K-type or IQ4_XS block

using Bytes = const std::uint8_t*;

// The non-linear 4-bit values of IQ4_NL and IQ4_XS.
constexpr std::array<std::int8_t, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};
// E2M1 values of the OCP Microscaling specification, doubled; a negative zero is stored as zero.
constexpr std::array<std::int8_t, 16> kMxfp4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                      0, -1, -2, -3, -4, -6, -8, -12};

std::uint16_t LoadU16(Bytes bytes) {
  return static_cast<std::uint16_t>(bytes[0] | (static_cast<unsigned>(bytes[1]) << 8));
}
std::uint32_t LoadU32(Bytes bytes) {
  return LoadU16(bytes) | (static_cast<std::uint32_t>(LoadU16(bytes + 2)) << 16);
}
float LoadHalf(Bytes bytes) { return HalfToFloat(LoadU16(bytes)); }

// Element i of 32 nibbles in 16 bytes: the low nibbles are elements 0-15, the high ones 16-31.
int SplitNibble(Bytes nibbles, int i) { return (nibbles[i % 16] >> (i / 16 * 4)) & 15; }

void DequantizeF32(Bytes block, float* out) { std::memcpy(out, block, sizeof(float)); }
void DequantizeF16(Bytes block, float* out) { *out = LoadHalf(block); }
void DequantizeBf16(Bytes block, float* out) { *out = Bf16ToFloat(LoadU16(block)); }

// d f16 | 32 nibbles. d * (q - 8)
void DequantizeQ4_0(Bytes block, float* out) {
  const float d = LoadHalf(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(SplitNibble(block + 2, i) - 8);
}

// d f16 | m f16 | 32 nibbles. d * q + m
void DequantizeQ4_1(Bytes block, float* out) {
  const float d = LoadHalf(block);
  const float m = LoadHalf(block + 2);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(SplitNibble(block + 4, i)) + m;
}

// A fifth bit per element, bit i of `high` for element i.
int WithFifthBit(int low, std::uint32_t high, int i) {
  return low | (static_cast<int>((high >> i) & 1U) << 4);
}

// d f16 | 32 fifth bits | 32 nibbles. d * (q - 16)
void DequantizeQ5_0(Bytes block, float* out) {
  const float d = LoadHalf(block);
  const std::uint32_t high = LoadU32(block + 2);
  for (int i = 0; i < 32; ++i) {
    out[i] = d * static_cast<float>(WithFifthBit(SplitNibble(block + 6, i), high, i) - 16);
  }
}

// d f16 | m f16 | 32 fifth bits | 32 nibbles. d * q + m
void DequantizeQ5_1(Bytes block, float* out) {
  const float d = LoadHalf(block);
  const float m = LoadHalf(block + 2);
  const std::uint32_t high = LoadU32(block + 4);
  for (int i = 0; i < 32; ++i) {
    out[i] = d * static_cast<float>(WithFifthBit(SplitNibble(block + 8, i), high, i)) + m;
  }
}

// d f16 | 32 int8. d * q
void DequantizeQ8_0(Bytes block, float* out) {
  const float d = LoadHalf(block);
  for (int i = 0; i < 32; ++i) {
    out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
  }
}

// Element i of 256 two-bit values in 64 bytes: each half of the block has 32 bytes, whose bit pairs
// hold four runs of 32 elements.
int TwoBits(Bytes pairs, int i) { return (pairs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2)) & 3; }

// 16 bytes (4-bit scale, 4-bit minimum) | 64 bytes of two-bit values | d f16 | dmin f16.
// Groups of 16: (d * scale) * q - dmin * minimum
void DequantizeQ2_K(Bytes block, float* out) {
  const Bytes scales = block;
  const Bytes pairs = block + 16;
  const float d = LoadHalf(block + 80);
  const float dmin = LoadHalf(block + 82);
  for (int i = 0; i < kSuper; ++i) {
    const float scale = d * static_cast<float>(scales[i / 16] & 15);
    const float minimum = dmin * static_cast<float>(scales[i / 16] >> 4);
    out[i] = scale * static_cast<float>(TwoBits(pairs, i)) - minimum;
  }
}

// The 6-bit scale of group 0-15 in Q3_K's 12 bytes: the low four bits are the nibbles of bytes 0-7,
// the high two are in bytes 8-11.
int Q3Scale(Bytes scales, int group) {
  const int low = (scales[group % 8] >> (group / 8 * 4)) & 15;
  const int high = (scales[8 + group % 4] >> (group / 4 * 2)) & 3;
  return (low | (high << 4)) - 32;
}

// 32 bytes of third bits | 64 bytes of two-bit values | 12 bytes of scales | d f16.
// Groups of 16: (d * scale) * (q - 4), where the third bit is set: * q
void DequantizeQ3_K(Bytes block, float* out) {
  const Bytes third = block;
  const Bytes pairs = block + 32;
  const Bytes scales = block + 96;
  const float d = LoadHalf(block + 108);
  for (int i = 0; i < kSuper; ++i) {
    const float scale = d * static_cast<float>(Q3Scale(scales, i / 16));
    const int offset = ((third[i % 32] >> (i / 32)) & 1) != 0 ? 0 : 4;
    out[i] = scale * static_cast<float>(TwoBits(pairs, i) - offset);
  }
}

struct ScaleAndMinimum {
  int scale;
  int minimum;
};

// The 6-bit scale and minimum of group 0-7 in the 12 bytes of Q4_K and Q5_K. Groups 0-3 are plain
// in bytes 0-3 and 4-7, whose top two bits complete the nibbles of groups 4-7 in bytes 8-11.
ScaleAndMinimum K4Scale(Bytes scales, int group) {
  if (group < 4) return {scales[group] & 63, scales[group + 4] & 63};
  const int nibbles = scales[group + 4];
  return {(nibbles & 15) | ((scales[group - 4] >> 2) & 0x30),
          (nibbles >> 4) | ((scales[group] >> 2) & 0x30)};
}

// Element i of 256 nibbles in 128 bytes: each 32 bytes hold two runs of 32 elements.
int RunNibble(Bytes nibbles, int i) {
  return (nibbles[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4)) & 15;
}

// d f16 | dmin f16 | 12 bytes of scales | 128 bytes of nibbles.
// Groups of 32: (d * scale) * q - dmin * minimum
void DequantizeQ4_K(Bytes block, float* out) {
  const float d = LoadHalf(block);
  const float dmin = LoadHalf(block + 2);
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum ints = K4Scale(block + 4, group);
    const float scale = d * static_cast<float>(ints.scale);
    const float minimum = dmin * static_cast<float>(ints.minimum);
    for (int i = group * 32; i < group * 32 + 32; ++i) {
      out[i] = scale * static_cast<float>(RunNibble(block + 16, i)) - minimum;
    }
  }
}

// d f16 | dmin f16 | 12 bytes of scales | 32 bytes of fifth bits (bit g for group g) | 128 bytes of
// nibbles. Groups of 32: (d * scale) * q - dmin * minimum
void DequantizeQ5_K(Bytes block, float* out) {
  const float d = LoadHalf(block);
  const float dmin = LoadHalf(block + 2);
  const Bytes high = block + 16;
  for (int group = 0; group < 8; ++group) {
    const ScaleAndMinimum ints = K4Scale(block + 4, group);
    const float scale = d * static_cast<float>(ints.scale);
    const float minimum = dmin * static_cast<float>(ints.minimum);
    for (int i = group * 32; i < group * 32 + 32; ++i) {
      const int q = WithFifthBit(RunNibble(block + 48, i), high[i % 32] >> group, 0);
      out[i] = scale * static_cast<float>(q) - minimum;
    }
  }
}

// 128 bytes of low nibbles (64 a half) | 64 bytes of high bit pairs | 16 int8 scales | d f16.
// Groups of 16: (d * scale) * (q - 32)
void DequantizeQ6_K(Bytes block, float* out) {
  const Bytes low = block;
  const Bytes high = block + 128;
  const Bytes scales = block + 192;
  const float d = LoadHalf(block + 208);
  for (int i = 0; i < kSuper; ++i) {
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(scales[i / 16]));
    const int nibble = (low[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4)) & 15;
    out[i] = scale * static_cast<float>((nibble | (TwoBits(high, i) << 4)) - 32);
  }
}

// d f16 | 32 nibbles that index kIq4Values. d * value
void DequantizeIq4Nl(Bytes block, float* out) {
  const float d = LoadHalf(block);
  for (int i = 0; i < 32; ++i) {
    out[i] =
        d * static_cast<float>(kIq4Values[static_cast<std::size_t>(SplitNibble(block + 2, i))]);
  }
}

// d f16 | 8 high scale bit pairs | 8 low scale nibbles | 8 times 32 nibbles that index kIq4Values.
// Groups of 32: (d * (scale - 32)) * value
void DequantizeIq4Xs(Bytes block, float* out) {
  const float d = LoadHalf(block);
  const unsigned high = LoadU16(block + 2);
  for (int group = 0; group < 8; ++group) {
    const int low = (block[4 + group / 2] >> (group % 2 * 4)) & 15;
    const int scale_int = (low | static_cast<int>(((high >> (group * 2)) & 3U) << 4)) - 32;
    const float scale = d * static_cast<float>(scale_int);
    for (int i = 0; i < 32; ++i) {
      const int index = SplitNibble(block + 8 + group * 16, i);
      out[group * 32 + i] = scale * static_cast<float>(kIq4Values[static_cast<std::size_t>(index)]);
    }
  }
}

// 2^(exponent - 128): the E8M0 scale, halved because kMxfp4Values are doubled.
float HalfE8m0(unsigned exponent) {
  return std::bit_cast<float>(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23);
}

// E8M0 scale | 32 nibbles that index kMxfp4Values. scale * value
void DequantizeMxfp4(Bytes block, float* out) {
  const float d = HalfE8m0(block[0]);
  for (int i = 0; i < 32; ++i) {
    out[i] =
        d * static_cast<float>(kMxfp4Values[static_cast<std::size_t>(SplitNibble(block + 1, i))]);
  }
}

using BlockFunction = void (*)(Bytes block, float* out);

BlockFunction FunctionFor(GgmlType type) {
  switch (type) {
    case GgmlType::kF32:
      return DequantizeF32;
    case GgmlType::kF16:
      return DequantizeF16;
    case GgmlType::kBF16:
      return DequantizeBf16;
    case GgmlType::kQ4_0:
      return DequantizeQ4_0;
    case GgmlType::kQ4_1:
      return DequantizeQ4_1;
    case GgmlType::kQ5_0:
      return DequantizeQ5_0;
    case GgmlType::kQ5_1:
      return DequantizeQ5_1;
    case GgmlType::kQ8_0:
      return DequantizeQ8_0;
    case GgmlType::kQ2_K:
      return DequantizeQ2_K;
    case GgmlType::kQ3_K:
      return DequantizeQ3_K;
    case GgmlType::kQ4_K:
      return DequantizeQ4_K;
    case GgmlType::kQ5_K:
      return DequantizeQ5_K;
    case GgmlType::kQ6_K:
      return DequantizeQ6_K;
    case GgmlType::kIQ4_NL:
      return DequantizeIq4Nl;
    case GgmlType::kIQ4_XS:
      return DequantizeIq4Xs;
    case GgmlType::kMXFP4:
      return DequantizeMxfp4;
  }
  __builtin_unreachable();  // every enumerator is above; ids of files go through GgmlTypeFromId
}

}  // namespace

void Dequantize(GgmlType type, const std::byte* blocks, std::int64_t elements, float* out) {
  const GgmlTypeInfo& info = TypeInfo(type);
  const BlockFunction dequantize_block = FunctionFor(type);
  const auto* bytes = reinterpret_cast<Bytes>(blocks);
  for (std::int64_t block = 0; block < elements / info.block_elements; ++block) {
    dequantize_block(bytes + block * info.block_bytes, out + block * info.block_elements);
  }
}

}  // namespace folio
