// The reference of each row-wise operation: docs/design/numerics.md, 'Elementwise'.
#include <cmath>

#include "kernels/elementwise_kernels.h"
#include "kernels/exp.h"

namespace folio {
namespace {

void RmsNormScalar(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
  float lanes[16] = {};
  for (std::int64_t i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  for (int step = 8; step > 0; step /= 2) {
    for (int lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
  }
  const float mean = lanes[0] / static_cast<float>(n);
  const float r = 1.0F / std::sqrt(mean + eps);
  for (std::int64_t i = 0; i < n; ++i) out[i] = (x[i] * r) * weight[i];
}

void AddScalar(const float* x, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

void ScaleScalar(float factor, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] *= factor;
}

void MulAddScalar(float factor, const float* x, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = std::fma(factor, x[i], y[i]);
}

void SiluMulScalar(const float* gate, const float* up, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = (gate[i] / (1.0F + Exp(-gate[i]))) * up[i];
  }
}

void GeluMulScalar(const float* gate, const float* up, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gate[i];
    const float inner = std::fma(kGeluCubic * (g * g), g, g);
    out[i] = (g / (1.0F + Exp(kGeluScale * inner))) * up[i];
  }
}

void RotatePair(float cosine, float sine, float* a, float* b) {
  const float rotated_a = std::fma(*a, cosine, -(*b * sine));
  const float rotated_b = std::fma(*b, cosine, *a * sine);
  *a = rotated_a;
  *b = rotated_b;
}

void RotateAdjacentScalar(const float* cosines, const float* sines, std::int64_t pairs,
                          float* head) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    RotatePair(cosines[i], sines[i], &head[2 * i], &head[2 * i + 1]);
  }
}

void RotateHalvesScalar(const float* cosines, const float* sines, std::int64_t pairs, float* head) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    RotatePair(cosines[i], sines[i], &head[i], &head[i + pairs]);
  }
}

}  // namespace

const ElementwiseKernels kElementwiseScalar = {
    .rms_norm = RmsNormScalar,
    .add = AddScalar,
    .scale = ScaleScalar,
    .mul_add = MulAddScalar,
    .silu_mul = SiluMulScalar,
    .gelu_mul = GeluMulScalar,
    .rotate_adjacent = RotateAdjacentScalar,
    .rotate_halves = RotateHalvesScalar,
};

}  // namespace folio
