#include "kernels/product_strips.h"

#include <algorithm>

#include "kernels/packed_layout.h"

namespace folio {
namespace {

// A quarter of a 2 MiB second-level cache: the file's rows and the activations want room too.
constexpr std::size_t kScratchBytes = 512 << 10;
// Kernels with many activation rows take two strips at a time.
constexpr std::int64_t kStripsTogether = 2;

void MultiplyInSlices(SliceKernel kernel, ProductSlice slice, std::int64_t rows_per_slice) {
  const std::int64_t row_end = slice.row_end;
  while (slice.row_begin < row_end) {
    slice.row_end = std::min(row_end, slice.row_begin + rows_per_slice);
    kernel(slice);
    slice.row_begin = slice.row_end;
  }
}

// Strips [first, first + count) of the slice, packed into `scratch`.
ProductSlice PackInto(std::byte* scratch, const ProductSlice& task, const PackedMatrix& weights,
                      std::int64_t first, std::int64_t count) {
  const std::int64_t row_bytes = FileRowBytes(weights.type, weights.k);
  for (std::int64_t strip = first; strip < first + count; ++strip) {
    const std::int64_t row = strip * kStripRows;
    PackStrip(weights.type, weights.unpacked->rows + row * row_bytes,
              std::min(kStripRows, weights.n - row), weights.k,
              scratch + (strip - first) * task.strip_bytes);
  }
  ProductSlice slice = task;
  slice.strips = scratch;
  slice.strip_begin = 0;
  slice.strip_end = count;
  slice.n = weights.n - first * kStripRows;
  slice.y = task.y + first * kStripRows;
  return slice;
}

}  // namespace

std::size_t StripScratchBytes(GgmlType type, std::int64_t k) {
  return std::max(kScratchBytes, kStripsTogether * PackedStripBytes(type, k));
}

void MultiplyStrips(SliceKernel kernel, const ProductSlice& task, std::int64_t rows_per_slice,
                    const PackedMatrix& weights, int thread) {
  ProductSlice packed = task;
  if (weights.unpacked != nullptr)
    packed.strip_end = std::min(task.strip_end, std::max(task.strip_begin, weights.packed_strips));
  MultiplyInSlices(kernel, packed, rows_per_slice);
  if (packed.strip_end == task.strip_end) return;

  const UnpackedRows& unpacked = *weights.unpacked;
  std::byte* scratch = unpacked.scratch + static_cast<std::size_t>(thread) * unpacked.scratch_bytes;
  const std::int64_t fitting = static_cast<std::int64_t>(unpacked.scratch_bytes) /
                               task.strip_bytes / kStripsTogether * kStripsTogether;
  for (std::int64_t strip = packed.strip_end; strip < task.strip_end; strip += fitting) {
    const std::int64_t count = std::min(fitting, task.strip_end - strip);
    MultiplyInSlices(kernel, PackInto(scratch, task, weights, strip, count), rows_per_slice);
  }
}

}  // namespace folio
