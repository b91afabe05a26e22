// A task of a product: strips that are packed, and strips that are not yet.
#ifndef FOLIO_KERNELS_PRODUCT_STRIPS_H_
#define FOLIO_KERNELS_PRODUCT_STRIPS_H_

#include <cstdint>

#include "kernels/product.h"
#include "kernels/product_slice.h"

namespace folio {

// Computes `task`, in slices of at most `rows_per_slice` activation rows. Strips that `weights` has
// only as file rows are packed into the scratch of `thread` first, a few at a time.
void MultiplyStrips(SliceKernel kernel, const ProductSlice& task, std::int64_t rows_per_slice,
                    const PackedMatrix& weights, int thread);

}  // namespace folio

#endif  // FOLIO_KERNELS_PRODUCT_STRIPS_H_
