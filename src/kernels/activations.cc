#include "kernels/activations.h"

#include "kernels/product.h"

namespace folio {

static_assert(kTileRows == kActivationTileRows);

namespace {

using TileConverter = void (*)(const float* x, std::int64_t k, float limit, ActivationTile tile);

TileConverter ConverterFor(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return ConvertTileScalar;
    case Isa::kAvx2:
      return ConvertTileAvx2;
    case Isa::kAvx512:
      return ConvertTileAvx512;
  }
  return ConvertTileScalar;
}

}  // namespace

std::size_t ActivationBytes(std::int64_t rows, std::int64_t k) {
  return static_cast<std::size_t>(rows * ((k + 31) / 32) * kActivationBlockBytes + 63) / 64 * 64;
}

void ConvertActivationTile(Isa isa, Numerics numerics, const float* x, std::int64_t rows,
                           std::int64_t k, std::int64_t first_row, std::byte* packed) {
  const float limit = numerics == Numerics::kInt8 ? kInt8Limit : kInt16Limit;
  ConverterFor(isa)(x + first_row * k, k, limit,
                    LocateTile(packed, rows, (k + 31) / 32, first_row));
}

Activations ConvertActivations(Isa isa, Numerics numerics, const float* x, std::int64_t rows,
                               std::int64_t k, std::byte* packed, ThreadPool& pool) {
  pool.ParallelFor((rows + kTileRows - 1) / kTileRows, [&](std::int64_t tile, int) {
    ConvertActivationTile(isa, numerics, x, rows, k, tile * kTileRows, packed);
  });
  return {numerics, rows, k, x, packed};
}

}  // namespace folio
