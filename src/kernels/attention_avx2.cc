#include "kernels/attention_simd.h"
#include "kernels/simd_avx2.h"

namespace folio {

const AttentionKernels kAttentionAvx2 = AttentionSimd<Avx2>::Kernels();

}  // namespace folio
