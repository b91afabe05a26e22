#include "kernels/elementwise.h"

#include "kernels/elementwise_kernels.h"

namespace folio {
namespace {

const ElementwiseKernels& KernelsOf(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return kElementwiseAvx512;
    case Isa::kAvx2:
      return kElementwiseAvx2;
    case Isa::kScalar:
      break;
  }
  return kElementwiseScalar;
}

}  // namespace

void RmsNorm(Isa isa, const float* x, const float* weight, std::int64_t n, float eps, float* out) {
  KernelsOf(isa).rms_norm(x, weight, n, eps, out);
}

void LayerNorm(Isa isa, const float* x, const float* weight, const float* bias, std::int64_t n,
               float eps, float* out) {
  KernelsOf(isa).layer_norm(x, weight, bias, n, eps, out);
}

void AddInPlace(Isa isa, const float* x, std::int64_t n, float* y) { KernelsOf(isa).add(x, n, y); }

void ScaleInPlace(Isa isa, float factor, std::int64_t n, float* y) {
  KernelsOf(isa).scale(factor, n, y);
}

void MulAddInPlace(Isa isa, float factor, const float* x, std::int64_t n, float* y) {
  KernelsOf(isa).mul_add(factor, x, n, y);
}

void SiluMul(Isa isa, const float* gate, const float* up, std::int64_t n, float* out) {
  KernelsOf(isa).silu_mul(gate, up, n, out);
}

void GeluMul(Isa isa, const float* gate, const float* up, std::int64_t n, float* out) {
  KernelsOf(isa).gelu_mul(gate, up, n, out);
}

void ClampedSiluMul(Isa isa, const float* gate, const float* up, std::int64_t n, float* out) {
  KernelsOf(isa).clamped_silu_mul(gate, up, n, out);
}

void GeluInPlace(Isa isa, std::int64_t n, float* y) { KernelsOf(isa).gelu(n, y); }

void SoftcapInPlace(Isa isa, float cap, std::int64_t n, float* y) {
  KernelsOf(isa).softcap(cap, n, y);
}

void RotateHead(Isa isa, RopePairs pairs, const float* cosines, const float* sines,
                std::int64_t rotary_dim, float* head) {
  const ElementwiseKernels& kernels = KernelsOf(isa);
  const auto rotate =
      pairs == RopePairs::kAdjacent ? kernels.rotate_adjacent : kernels.rotate_halves;
  rotate(cosines, sines, rotary_dim / 2, head);
}

}  // namespace folio
