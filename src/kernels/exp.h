// The exponential that softmax, SiLU and GELU use: the scalar reference. Vector code inlines the
// same operations lane by lane (exp_constants.h).
#ifndef FOLIO_KERNELS_EXP_H_
#define FOLIO_KERNELS_EXP_H_

namespace folio {

// e^x within 1 unit in the last place; +0 below -87.33, +infinity above 88.72, NaN for NaN.
float Exp(float x);

}  // namespace folio

#endif  // FOLIO_KERNELS_EXP_H_
