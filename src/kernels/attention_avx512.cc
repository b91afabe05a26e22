#include "kernels/attention_simd.h"
#include "kernels/simd_avx512.h"

namespace folio {

const AttentionKernels kAttentionAvx512 = AttentionSimd<Avx512>::Kernels();

}  // namespace folio
