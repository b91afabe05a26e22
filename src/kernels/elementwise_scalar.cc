// The reference of each row-wise operation: docs/design/numerics.md, 'Elementwise'.
#include <cmath>

#include "kernels/elementwise_kernels.h"
#include "kernels/exp.h"
#include "kernels/softcap.h"

namespace folio {
namespace {

// The sum of sixteen chains, in a tree.
float SumLanes16(float (&lanes)[16]) {
  for (int step = 8; step > 0; step /= 2) {
    for (int lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
  }
  return lanes[0];
}

void RmsNormScalar(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
  float lanes[16] = {};
  for (std::int64_t i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  const float mean = SumLanes16(lanes) / static_cast<float>(n);
  const float r = 1.0F / std::sqrt(mean + eps);
  for (std::int64_t i = 0; i < n; ++i) out[i] = (x[i] * r) * weight[i];
}

void LayerNormScalar(const float* x, const float* weight, const float* bias, std::int64_t n,
                     float eps, float* out) {
  float sums[16] = {};
  for (std::int64_t i = 0; i < n; ++i) sums[i % 16] += x[i];
  const float mean = SumLanes16(sums) / static_cast<float>(n);
  float squares[16] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const float d = x[i] - mean;
    squares[i % 16] = std::fma(d, d, squares[i % 16]);
  }
  const float variance = SumLanes16(squares) / static_cast<float>(n);
  const float r = 1.0F / std::sqrt(variance + eps);
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::fma((x[i] - mean) * r, weight[i], bias[i]);
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

float Gelu(float g) {
  const float inner = std::fma(kGeluCubic * (g * g), g, g);
  return g / (1.0F + Exp(kGeluScale * inner));
}

void GeluMulScalar(const float* gate, const float* up, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = Gelu(gate[i]) * up[i];
}

void GeluScalar(std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = Gelu(y[i]);
}

// No number stays none: it is what a comparison that fails returns.
float AtMost(float most, float x) { return most < x ? most : x; }
float AtLeast(float least, float x) { return least > x ? least : x; }

void ClampedSiluMulScalar(const float* gate, const float* up, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = AtMost(kGateLimit, gate[i]);
    const float u = AtLeast(-kGateLimit, AtMost(kGateLimit, up[i]));
    out[i] = (g / (1.0F + Exp(-kGateSlope * g))) * (u + 1.0F);
  }
}

void SoftcapScalar(float cap, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = Softcap(y[i], cap);
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
    .layer_norm = LayerNormScalar,
    .add = AddScalar,
    .scale = ScaleScalar,
    .mul_add = MulAddScalar,
    .silu_mul = SiluMulScalar,
    .gelu_mul = GeluMulScalar,
    .clamped_silu_mul = ClampedSiluMulScalar,
    .gelu = GeluScalar,
    .softcap = SoftcapScalar,
    .rotate_adjacent = RotateAdjacentScalar,
    .rotate_halves = RotateHalvesScalar,
};

}  // namespace folio
