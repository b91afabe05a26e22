#include <cstring>

#include "kernels/packed_layout.h"
#include "kernels/product.h"
#include "kernels/unpack_block.h"
#include "quant/dequantize.h"
#include "quant/half.h"

namespace folio {
namespace {

void UnpackQuantisedRow(const PackedFormat& format, const std::byte* strip, int lane,
                        std::int64_t k, float* out) {
  for (std::int64_t block = 0; block < k / kBlockElements; ++block) {
    WeightBlock weights;
    UnpackBlock(format, strip, lane, block, &weights);
    for (int i = 0; i < kBlockElements; ++i) {
      const int group = format.groups == 2 ? i / 16 : 0;
      const float product = weights.scale[group] * static_cast<float>(weights.values[i]);
      out[block * kBlockElements + i] =
          format.has_minimum ? product + weights.minimum[group] : product;
    }
  }
}

void UnpackFloatRow(GgmlType type, const std::byte* strip, int lane, std::int64_t k, float* out) {
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t element = i * kLanes + lane;
    if (type == GgmlType::kF32) {
      std::memcpy(out + i, strip + element * 4, 4);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, strip + element * 2, 2);
      const float value = type == GgmlType::kF16 ? HalfToFloat(bits) : Bf16ToFloat(bits);
      std::memcpy(out + i, &value, 4);
    }
  }
}

}  // namespace

void UnpackRow(const PackedMatrix& matrix, std::int64_t row, float* out) {
  if (matrix.unpacked != nullptr && row / kLanes >= matrix.packed_strips) {
    const std::byte* file_row = matrix.unpacked->rows + row * FileRowBytes(matrix.type, matrix.k);
    return Dequantize(matrix.type, file_row, matrix.k, out);
  }
  const std::byte* strip = matrix.data + static_cast<std::size_t>(row / kLanes) *
                                             PackedStripBytes(matrix.type, matrix.k);
  const int lane = static_cast<int>(row % kLanes);
  if (const PackedFormat* format = FindPackedFormat(matrix.type)) {
    UnpackQuantisedRow(*format, strip, lane, matrix.k, out);
  } else {
    UnpackFloatRow(matrix.type, strip, lane, matrix.k, out);
  }
}

}  // namespace folio
