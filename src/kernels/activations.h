// The integer form of activation rows: for each 32 of k, 32 int16, their scale and their sums.
// Every ISA's products read this one layout; docs/design/numerics.md defines the rounding.
#ifndef FOLIO_KERNELS_ACTIVATIONS_H_
#define FOLIO_KERNELS_ACTIVATIONS_H_

#include <cstddef>
#include <cstdint>

namespace folio {

// Rows are stored in tiles of 8, so that a tile is one stretch of memory and a block's rows lie
// side by side. The last tile has as many rows as are left.
constexpr int kTileRows = 8;  // kActivationTileRows of product.h

// What belongs to one row's block besides its integers.
struct BlockFactors {
  float scale;
  float sum;          // of the 32 integers, exact
  float half_sum[2];  // of the first and the last 16
};

constexpr std::int64_t kActivationBlockBytes = 32 * 2 + sizeof(BlockFactors);

// A view of one tile: values [block][rows][32], factors [block][rows].
struct ActivationTile {
  std::int16_t* values;
  BlockFactors* factors;
  std::int64_t rows;
};

// The tile that starts at row `first_row` (a multiple of kTileRows) of `rows`, each of `blocks`
// blocks.
static inline ActivationTile LocateTile(std::byte* packed, std::int64_t rows, std::int64_t blocks,
                                        std::int64_t first_row) {
  const std::int64_t left = rows - first_row;
  const std::int64_t in_tile = left < kTileRows ? left : kTileRows;
  std::byte* base = packed + first_row * blocks * kActivationBlockBytes;
  return {reinterpret_cast<std::int16_t*>(base),
          reinterpret_cast<BlockFactors*>(base + in_tile * blocks * 64), in_tile};
}

// The largest integer of each number of planes: 127, or 127 * 256 + 127, so that both planes of a
// 16-bit value fit a signed byte.
constexpr float kInt8Limit = 127.0F;
constexpr float kInt16Limit = 32639.0F;
// Below this a block counts as zeros: its inverse scale would overflow.
constexpr float kSmallestBlock = 1e-30F;

// Converts the rows of one tile: x [tile.rows, k], row after row; `limit` is one of the two above.
void ConvertTileScalar(const float* x, std::int64_t k, float limit, ActivationTile tile);
void ConvertTileAvx2(const float* x, std::int64_t k, float limit, ActivationTile tile);
void ConvertTileAvx512(const float* x, std::int64_t k, float limit, ActivationTile tile);

}  // namespace folio

#endif  // FOLIO_KERNELS_ACTIVATIONS_H_
