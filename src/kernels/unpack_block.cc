#include "kernels/unpack_block.h"

#include <bit>
#include <cstring>

#include "kernels/pack_codes.h"
#include "quant/half.h"

namespace folio {
namespace {

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float HeadField(const std::byte* head, int field, int lane) {
  return HalfToFloat(Load<std::uint16_t>(head + (field * kLanes + lane) * 2));
}

// The code of element k of the lane, planes put together.
int StoredCode(const PackedFormat& format, const std::byte* record, int lane, int k) {
  int code = 0;
  int position = 0;
  const int word = 16 * (k % 2);
  const std::byte* bits = record;
  const std::byte* pairs = bits + (format.bits ? kBitsBytes : 0);
  const std::byte* nibbles = pairs + (format.pairs ? kPairsBytes : 0);
  if (format.bytes) return static_cast<int>(record[(k / 2 * kLanes + lane) * 2 + k % 2]);
  if (format.nibbles) {
    const auto dword = Load<std::uint32_t>(nibbles + (k / 8 * kLanes + lane) * 4);
    code = static_cast<int>((dword >> (word + 4 * (k % 8 / 2))) & 15);
    position = 4;
  }
  if (format.pairs) {
    const auto dword = Load<std::uint32_t>(pairs + (k / 16 * kLanes + lane) * 4);
    code |= static_cast<int>((dword >> (word + 2 * (k % 16 / 2))) & 3) << position;
    position += 2;
  }
  if (format.bits) {
    const auto dword = Load<std::uint32_t>(bits + lane * 4);
    code |= static_cast<int>((dword >> (word + k / 2)) & 1) << position;
  }
  return code;
}

int CodeValue(GgmlType type, int stored) {
  const int code = stored ^ StoredFlip(type);
  switch (type) {
    case GgmlType::kQ4_0:
      return code - 8;
    case GgmlType::kQ5_0:
      return code - 16;
    case GgmlType::kQ3_K:
      return code - 4;
    case GgmlType::kQ6_K:
      return code - 32;
    case GgmlType::kQ8_0:
      return code < 128 ? code : code - 256;
    case GgmlType::kIQ4_NL:
    case GgmlType::kIQ4_XS:
      return kIq4Values[code];
    case GgmlType::kMXFP4:
      return kMxfp4Values[code];
    default:
      return code;
  }
}

// Half of 2^(exponent - 127): the value table is doubled.
float HalvedPowerOfTwo(std::uint32_t exponent) {
  return std::bit_cast<float>(exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23);
}

// The 6-bit scale and minimum of block j, from a row's 12 bytes (three dwords).
void ReadSixBitPair(const std::byte* scales, int lane, int j, int* scale, int* minimum) {
  const auto byte = [&](int i) { return static_cast<int>(scales[i / 4 * 64 + lane * 4 + i % 4]); };
  if (j < 4) {
    *scale = byte(j) & 63;
    *minimum = byte(j + 4) & 63;
  } else {
    *scale = (byte(j + 4) & 15) | (byte(j - 4) >> 6 << 4);
    *minimum = (byte(j + 4) >> 4) | (byte(j) >> 6 << 4);
  }
}

// Scale g (of 16) of a Q3_K row: four low bits in bytes 0-7, two high bits in bytes 8-11.
int ReadQ3KScale(const std::byte* scales, int lane, int g) {
  const auto byte = [&](int i) { return static_cast<int>(scales[i / 4 * 64 + lane * 4 + i % 4]); };
  const int low = (byte(g % 8) >> (g < 8 ? 0 : 4)) & 15;
  const int high = (byte(8 + g % 4) >> (2 * (g / 4))) & 3;
  return (low | (high << 4)) - 32;
}

void ReadScales(const PackedFormat& format, const std::byte* head, const std::byte* scales,
                int lane, int j, WeightBlock* out) {
  out->minimum[0] = out->minimum[1] = 0.0F;
  if (format.type == GgmlType::kMXFP4) {
    out->scale[0] = HalvedPowerOfTwo(static_cast<std::uint32_t>(head[lane]));
    return;
  }
  const float d = HeadField(head, 0, lane);
  switch (format.type) {
    case GgmlType::kQ4_1:
    case GgmlType::kQ5_1:
      out->scale[0] = d;
      out->minimum[0] = HeadField(head, 1, lane);
      return;
    case GgmlType::kQ4_K:
    case GgmlType::kQ5_K: {
      int scale = 0;
      int minimum = 0;
      ReadSixBitPair(scales, lane, j, &scale, &minimum);
      out->scale[0] = d * static_cast<float>(scale);
      out->minimum[0] = -(HeadField(head, 1, lane) * static_cast<float>(minimum));
      return;
    }
    case GgmlType::kQ2_K:
      for (int g = 0; g < 2; ++g) {
        const int both = static_cast<int>(scales[(2 * j + g) * kLanes + lane]);
        out->scale[g] = d * static_cast<float>(both & 15);
        out->minimum[g] = -(HeadField(head, 1, lane) * static_cast<float>(both >> 4));
      }
      return;
    case GgmlType::kQ3_K:
      for (int g = 0; g < 2; ++g)
        out->scale[g] = d * static_cast<float>(ReadQ3KScale(scales, lane, 2 * j + g));
      return;
    case GgmlType::kQ6_K:
      for (int g = 0; g < 2; ++g) {
        const auto sub = static_cast<std::int8_t>(scales[(2 * j + g) * kLanes + lane]);
        out->scale[g] = d * static_cast<float>(sub);
      }
      return;
    case GgmlType::kIQ4_XS: {
      const auto low = Load<std::uint32_t>(scales + lane * 4) >> (4 * j) & 15;
      const auto high = Load<std::uint16_t>(head + (kLanes + lane) * 2) >> (2 * j) & 3;
      out->scale[0] = d * static_cast<float>(static_cast<int>(low) + (high << 4) - 32);
      return;
    }
    default:
      out->scale[0] = d;
      return;
  }
}

}  // namespace

void UnpackBlock(const PackedFormat& format, const std::byte* strip, int lane, std::int64_t block,
                 WeightBlock* out) {
  const std::int64_t unit = block / format.unit_blocks;
  const int j = static_cast<int>(block % format.unit_blocks);
  const std::byte* head = strip + HeadOffset(format, unit);
  const std::byte* body = strip + BodyOffset(format, unit);
  const std::byte* record = body + format.scale_bytes + j * BlockBytes(format);
  for (int k = 0; k < 32; ++k)
    out->values[k] = CodeValue(format.type, StoredCode(format, record, lane, k));
  ReadScales(format, head, body, lane, j, out);
}

}  // namespace folio
