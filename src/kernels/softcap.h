// Soft capping (Gemma 2, 2024, section 2): the scalar reference. Vector code does the same lane by
// lane (softcap_simd.h).
#ifndef FOLIO_KERNELS_SOFTCAP_H_
#define FOLIO_KERNELS_SOFTCAP_H_

namespace folio {

// cap * tanh(x / cap), by the exponential: cap * (1 - 2 / (1 + exp(2/cap * x))). NaN for NaN.
float Softcap(float x, float cap);

}  // namespace folio

#endif  // FOLIO_KERNELS_SOFTCAP_H_
