// The row-wise operations over vectors: elementwise_scalar.cc's arithmetic, V::kLanes elements at a
// time. V is Avx2 or Avx512.
#ifndef FOLIO_KERNELS_ELEMENTWISE_SIMD_H_
#define FOLIO_KERNELS_ELEMENTWISE_SIMD_H_

#include <cstdint>

#include "kernels/elementwise_kernels.h"
#include "kernels/exp_simd.h"
#include "kernels/softcap_simd.h"

namespace folio {

template <class V>
struct ElementwiseSimd {
  using Float = typename V::Float;
  static constexpr std::int64_t kLanes = V::kLanes;

  static void RmsNorm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
    const float sum = SumOf(n, [&](Float chain, std::int64_t at, auto&& load) {
      const Float value = load(x + at);
      return V::Fma(value, value, chain);
    });
    const float mean = sum / static_cast<float>(n);
    const Float r = V::Div(V::Set(1.0F), V::Sqrt(V::Set(mean + eps)));
    ForEach(n, [&](std::int64_t at, auto&& load, auto&& store) {
      store(out + at, V::Mul(V::Mul(load(x + at), r), load(weight + at)));
    });
  }

  static void LayerNorm(const float* x, const float* weight, const float* bias, std::int64_t n,
                        float eps, float* out) {
    const float sum = SumOf(
        n, [&](Float chain, std::int64_t at, auto&& load) { return V::Add(chain, load(x + at)); });
    const Float mean = V::Set(sum / static_cast<float>(n));
    const float squares = SumOf(n, [&](Float chain, std::int64_t at, auto&& load) {
      const Float d = V::KeepRange(V::Sub(load(x + at), mean), 0, n - at, V::Zero());
      return V::Fma(d, d, chain);
    });
    const float variance = squares / static_cast<float>(n);
    const Float r = V::Div(V::Set(1.0F), V::Sqrt(V::Set(variance + eps)));
    ForEach(n, [&](std::int64_t at, auto&& load, auto&& store) {
      const Float scaled = V::Mul(V::Sub(load(x + at), mean), r);
      store(out + at, V::Fma(scaled, load(weight + at), load(bias + at)));
    });
  }

  static void AddInPlace(const float* x, std::int64_t n, float* y) {
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) {
      store(y + i, V::Add(load(y + i), load(x + i)));
    });
  }

  static void ScaleInPlace(float factor, std::int64_t n, float* y) {
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) {
      store(y + i, V::Mul(load(y + i), V::Set(factor)));
    });
  }

  static void MulAddInPlace(float factor, const float* x, std::int64_t n, float* y) {
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) {
      store(y + i, V::Fma(V::Set(factor), load(x + i), load(y + i)));
    });
  }

  static void SiluMul(const float* gate, const float* up, std::int64_t n, float* out) {
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) {
      const Float g = load(gate + i);
      const Float divisor = V::Add(V::Set(1.0F), Exp<V>(V::Negate(g)));
      store(out + i, V::Mul(V::Div(g, divisor), load(up + i)));
    });
  }

  static void GeluMul(const float* gate, const float* up, std::int64_t n, float* out) {
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) {
      store(out + i, V::Mul(Gelu(load(gate + i)), load(up + i)));
    });
  }

  static void GeluInPlace(std::int64_t n, float* y) {
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) { store(y + i, Gelu(load(y + i))); });
  }

  static void ClampedSiluMul(const float* gate, const float* up, std::int64_t n, float* out) {
    const Float most = V::Set(kGateLimit);
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) {
      const Float g = V::Min(most, load(gate + i));
      const Float u = V::Max(V::Set(-kGateLimit), V::Min(most, load(up + i)));
      const Float divisor = V::Add(V::Set(1.0F), Exp<V>(V::Mul(V::Set(-kGateSlope), g)));
      store(out + i, V::Mul(V::Div(g, divisor), V::Add(u, V::Set(1.0F))));
    });
  }

  static void SoftcapInPlace(float cap, std::int64_t n, float* y) {
    ForEach(n, [&](std::int64_t i, auto&& load, auto&& store) {
      store(y + i, Softcap<V>(load(y + i), cap));
    });
  }

  static void RotateHalves(const float* cosines, const float* sines, std::int64_t pairs,
                           float* head) {
    ForEach(pairs, [&](std::int64_t i, auto&& load, auto&& store) {
      Float a = load(head + i);
      Float b = load(head + pairs + i);
      Rotate(load(cosines + i), load(sines + i), &a, &b);
      store(head + i, a);
      store(head + pairs + i, b);
    });
  }

  static void RotateAdjacent(const float* cosines, const float* sines, std::int64_t pairs,
                             float* head) {
    std::int64_t i = 0;
    for (; i + kLanes <= pairs; i += kLanes) {
      Float a;
      Float b;
      V::LoadPairs(head + 2 * i, &a, &b);
      Rotate(V::Load(cosines + i), V::Load(sines + i), &a, &b);
      V::StorePairs(head + 2 * i, a, b);
    }
    if (i == pairs) return;
    float tail[2 * V::kLanes] = {};
    for (std::int64_t j = 2 * i; j < 2 * pairs; ++j) tail[j - 2 * i] = head[j];
    Float a;
    Float b;
    V::LoadPairs(tail, &a, &b);
    Rotate(V::LoadFirst(cosines + i, pairs - i), V::LoadFirst(sines + i, pairs - i), &a, &b);
    V::StorePairs(tail, a, b);
    for (std::int64_t j = 2 * i; j < 2 * pairs; ++j) head[j] = tail[j - 2 * i];
  }

  static constexpr ElementwiseKernels Kernels() {
    return {
        .rms_norm = RmsNorm,
        .layer_norm = LayerNorm,
        .add = AddInPlace,
        .scale = ScaleInPlace,
        .mul_add = MulAddInPlace,
        .silu_mul = SiluMul,
        .gelu_mul = GeluMul,
        .clamped_silu_mul = ClampedSiluMul,
        .gelu = GeluInPlace,
        .softcap = SoftcapInPlace,
        .rotate_adjacent = RotateAdjacent,
        .rotate_halves = RotateHalves,
    };
  }

 private:
  static void Rotate(Float cosine, Float sine, Float* a, Float* b) {
    const Float rotated_a = V::FmaSub(*a, cosine, V::Mul(*b, sine));
    *b = V::Fma(*b, cosine, V::Mul(*a, sine));
    *a = rotated_a;
  }

  static Float Gelu(Float g) {
    const Float inner = V::Fma(V::Mul(V::Set(kGeluCubic), V::Mul(g, g)), g, g);
    const Float divisor = V::Add(V::Set(1.0F), Exp<V>(V::Mul(V::Set(kGeluScale), inner)));
    return V::Div(g, divisor);
  }

  // The sum of 16 chains over [0, n), each step chain = step(chain, i, load); lanes past n load
  // zeros and must add nothing.
  template <typename Step>
  static float SumOf(std::int64_t n, const Step& step) {
    constexpr int kChains = 16 / V::kLanes;
    Float chains[kChains];
    for (Float& chain : chains) chain = V::Zero();
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      for (int c = 0; c < kChains; ++c)
        chains[c] = step(chains[c], i + c * kLanes, [](const float* p) { return V::Load(p); });
    }
    for (int c = 0; c < kChains && i < n; ++c, i += kLanes)
      chains[c] = step(chains[c], i, [=](const float* p) { return V::LoadFirst(p, n - i); });
    return V::SumLanes16(chains);
  }

  // body(i, load, store) for each vector of [0, n), the last one with partial loads and stores.
  template <typename Body>
  static void ForEach(std::int64_t n, Body&& body) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      body(
          i, [](const float* p) { return V::Load(p); },
          [](float* p, Float value) { V::Store(p, value); });
    }
    if (i < n) {
      body(
          i, [=](const float* p) { return V::LoadFirst(p, n - i); },
          [=](float* p, Float value) { V::StoreFirst(p, n - i, value); });
    }
  }
};

}  // namespace folio

#endif  // FOLIO_KERNELS_ELEMENTWISE_SIMD_H_
