// softcap.h's function, lane by lane. V is Avx2 or Avx512.
#ifndef FOLIO_KERNELS_SOFTCAP_SIMD_H_
#define FOLIO_KERNELS_SOFTCAP_SIMD_H_

#include "kernels/exp_simd.h"

namespace folio {

template <class V>
typename V::Float Softcap(typename V::Float x, float cap) {
  const auto one = V::Set(1.0F);
  const auto growth = Exp<V>(V::Mul(V::Set(2.0F / cap), x));
  return V::Mul(V::Set(cap), V::Sub(one, V::Div(V::Set(2.0F), V::Add(one, growth))));
}

}  // namespace folio

#endif  // FOLIO_KERNELS_SOFTCAP_SIMD_H_
