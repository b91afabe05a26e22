#include "kernels/elementwise_simd.h"
#include "kernels/simd_avx2.h"

namespace folio {

const ElementwiseKernels kElementwiseAvx2 = ElementwiseSimd<Avx2>::Kernels();

}  // namespace folio
