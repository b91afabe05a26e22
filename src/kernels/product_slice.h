// The piece of a product that one thread computes at a time, and the paths that compute it.
#ifndef FOLIO_KERNELS_PRODUCT_SLICE_H_
#define FOLIO_KERNELS_PRODUCT_SLICE_H_

#include <cstddef>
#include <cstdint>

#include "cpu/isa.h"
#include "quant/ggml_type.h"

namespace folio {

// The most activation rows in a slice: its partial sums wait on the stack.
constexpr int kMaxSliceRows = 128;

// y[r * ldy + n] for output rows n of strips [strip_begin, strip_end) and activation rows r in
// [row_begin, row_end). Plain data: ISA files include it.
struct ProductSlice {
  GgmlType type;
  std::int64_t n;
  std::int64_t k;
  const std::byte* strips;  // of the whole matrix
  std::int64_t strip_bytes;
  std::int64_t strip_begin;
  std::int64_t strip_end;
  const float* x;          // [rows, k]; read for float weights
  std::byte* activations;  // the integer form (activations.h); read for quantised weights
  std::int64_t rows;       // of all activations
  std::int64_t row_begin;  // a multiple of kTileRows
  std::int64_t row_end;
  float* y;
  std::int64_t ldy;
};

using SliceKernel = void (*)(const ProductSlice& slice);
void MultiplySliceScalar(const ProductSlice& slice);
void MultiplySliceAvx2(const ProductSlice& slice);
void MultiplySliceAvx512(const ProductSlice& slice);

// The path that Multiply takes for weights of this type when `isa` is in use.
SliceKernel ProductKernel(Isa isa, GgmlType type);

}  // namespace folio

#endif  // FOLIO_KERNELS_PRODUCT_SLICE_H_
