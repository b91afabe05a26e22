// exp.h's exponential, lane by lane. V is Avx2 or Avx512.
#ifndef FOLIO_KERNELS_EXP_SIMD_H_
#define FOLIO_KERNELS_EXP_SIMD_H_

#include "kernels/exp_constants.h"

namespace folio {

// For x <= kExpHighest, as in a softmax.
template <class V>
typename V::Float ExpBelow(typename V::Float x) {
  using Float = typename V::Float;
  const Float shifted = V::Fma(x, V::Set(kExpLog2E), V::Set(kExpRounder));
  const Float n = V::Sub(shifted, V::Set(kExpRounder));
  Float r = V::NegFma(n, V::Set(kExpLn2High), x);
  r = V::NegFma(n, V::Set(kExpLn2Low), r);
  Float p = V::Fma(V::Set(kExpC6), r, V::Set(kExpC5));
  p = V::Fma(p, r, V::Set(kExpC4));
  p = V::Fma(p, r, V::Set(kExpC3));
  p = V::Fma(p, r, V::Set(kExpC2));
  p = V::Fma(p, r, V::Set(1.0F));
  p = V::Fma(p, r, V::Set(1.0F));
  return V::ZeroIfLess(x, kExpLowest, V::TimesPowerOf2(p, shifted));
}

template <class V>
typename V::Float Exp(typename V::Float x) {
  return V::IfGreater(x, kExpHighest, V::Set(__builtin_inff()), ExpBelow<V>(x));
}

}  // namespace folio

#endif  // FOLIO_KERNELS_EXP_SIMD_H_
