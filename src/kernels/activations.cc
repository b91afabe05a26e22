#include "kernels/activations.h"

#include "kernels/product.h"

namespace folio {
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

Activations ConvertActivations(Isa isa, Numerics numerics, const float* x, std::int64_t rows,
                               std::int64_t k, std::byte* packed, ThreadPool& pool) {
  const float limit = numerics == Numerics::kInt8 ? kInt8Limit : kInt16Limit;
  const std::int64_t blocks = (k + 31) / 32;
  const TileConverter convert = ConverterFor(isa);
  pool.ParallelFor((rows + kTileRows - 1) / kTileRows, [&](std::int64_t tile, int) {
    const std::int64_t row = tile * kTileRows;
    convert(x + row * k, k, limit, LocateTile(packed, rows, blocks, row));
  });
  return {numerics, rows, k, x, packed};
}

}  // namespace folio
