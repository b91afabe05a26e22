#include "kernels/elementwise_simd.h"
#include "kernels/simd_avx512.h"

namespace folio {

const ElementwiseKernels kElementwiseAvx512 = ElementwiseSimd<Avx512>::Kernels();

}  // namespace folio
