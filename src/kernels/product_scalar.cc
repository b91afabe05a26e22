// The definition of the products (docs/design/numerics.md), one output row at a time.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/activations.h"
#include "kernels/packed_layout.h"
#include "kernels/product_slice.h"
#include "kernels/unpack_block.h"
#include "quant/half.h"

namespace folio {
namespace {

// The exact dot product of one scale group, of 32 or 16 elements.
std::int32_t Dot(const std::int32_t* weights, const std::int16_t* activations, int count) {
  std::int32_t sum = 0;
  for (int i = 0; i < count; ++i) sum += weights[i] * activations[i];
  return sum;
}

float AddBlock(const PackedFormat& format, const WeightBlock& weights, const std::int16_t* values,
               const BlockFactors& factors, float acc) {
  const int count = kBlockElements / format.groups;
  for (int g = 0; g < format.groups; ++g) {
    const std::int32_t dot = Dot(weights.values + g * count, values + g * count, count);
    acc = std::fma(static_cast<float>(dot), factors.scale * weights.scale[g], acc);
    if (format.has_minimum) {
      const float sum = format.groups == 2 ? factors.half_sum[g] : factors.sum;
      acc = std::fma(sum, factors.scale * weights.minimum[g], acc);
    }
  }
  return acc;
}

// One output row against one tile of activation rows.
void MultiplyRow(const PackedFormat& format, const std::byte* strip, int lane, std::int64_t blocks,
                 const ActivationTile& tile, float* acc) {
  std::fill_n(acc, tile.rows, 0.0F);
  for (std::int64_t block = 0; block < blocks; ++block) {
    WeightBlock weights;
    UnpackBlock(format, strip, lane, block, &weights);
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const std::int64_t at = block * tile.rows + row;
      acc[row] =
          AddBlock(format, weights, tile.values + at * kBlockElements, tile.factors[at], acc[row]);
    }
  }
}

void MultiplyQuantised(const PackedFormat& format, const ProductSlice& slice) {
  const std::int64_t blocks = slice.k / kBlockElements;
  const std::int64_t n_end = std::min(slice.n, slice.strip_end * kLanes);
  for (std::int64_t n = slice.strip_begin * kLanes; n < n_end; ++n) {
    const std::byte* strip = slice.strips + n / kLanes * slice.strip_bytes;
    for (std::int64_t row = slice.row_begin; row < slice.row_end; row += kTileRows) {
      const ActivationTile tile = LocateTile(slice.activations, slice.rows, blocks, row);
      float acc[kTileRows];
      MultiplyRow(format, strip, static_cast<int>(n % kLanes), blocks, tile, acc);
      for (std::int64_t i = 0; i < tile.rows; ++i) slice.y[(row + i) * slice.ldy + n] = acc[i];
    }
  }
}

float LoadFloat(GgmlType type, const std::byte* strip, std::int64_t element) {
  if (type == GgmlType::kF32) {
    float value = 0;
    std::memcpy(&value, strip + element * 4, 4);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, strip + element * 2, 2);
  return type == GgmlType::kF16 ? HalfToFloat(bits) : Bf16ToFloat(bits);
}

void MultiplyFloats(const ProductSlice& slice) {
  const std::int64_t n_end = std::min(slice.n, slice.strip_end * kLanes);
  for (std::int64_t n = slice.strip_begin * kLanes; n < n_end; ++n) {
    const std::byte* strip = slice.strips + n / kLanes * slice.strip_bytes;
    for (std::int64_t row = slice.row_begin; row < slice.row_end; ++row) {
      const float* x = slice.x + row * slice.k;
      float acc = 0.0F;
      for (std::int64_t k = 0; k < slice.k; ++k)
        acc = std::fma(LoadFloat(slice.type, strip, k * kLanes + n % kLanes), x[k], acc);
      slice.y[row * slice.ldy + n] = acc;
    }
  }
}

}  // namespace

void MultiplySliceScalar(const ProductSlice& slice) {
  if (const PackedFormat* format = FindPackedFormat(slice.type)) {
    MultiplyQuantised(*format, slice);
  } else {
    MultiplyFloats(slice);
  }
}

}  // namespace folio
