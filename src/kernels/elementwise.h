// The row-wise operations between products: norms, rotation, activations. All take fp32 rows; a
// row's bits do not depend on the other rows, and every ISA gives the scalar reference's bits
// (docs/design/numerics.md).
#ifndef FOLIO_KERNELS_ELEMENTWISE_H_
#define FOLIO_KERNELS_ELEMENTWISE_H_

#include <cstdint>

#include "cpu/isa.h"

namespace folio {

// out[i] = x[i] * (1 / sqrt(mean(x^2) + eps)) * weight[i] over one row of n (RMSNorm, Zhang &
// Sennrich 2019). out may be x.
void RmsNorm(Isa isa, const float* x, const float* weight, std::int64_t n, float eps, float* out);

// out[i] = (x[i] - mean(x)) * (1 / sqrt(variance(x) + eps)) * weight[i] + bias[i] over one row of
// n, the variance divided by n (LayerNorm, Ba et al. 2016). out may be x.
void LayerNorm(Isa isa, const float* x, const float* weight, const float* bias, std::int64_t n,
               float eps, float* out);

// y[i] += x[i]
void AddInPlace(Isa isa, const float* x, std::int64_t n, float* y);

// y[i] *= factor
void ScaleInPlace(Isa isa, float factor, std::int64_t n, float* y);

// y[i] = fma(factor, x[i], y[i])
void MulAddInPlace(Isa isa, float factor, const float* x, std::int64_t n, float* y);

// out[i] = silu(gate[i]) * up[i] (SwiGLU's, Shazeer 2020)
void SiluMul(Isa isa, const float* gate, const float* up, std::int64_t n, float* out);

// out[i] = gelu(gate[i]) * up[i], GELU in its tanh form (Hendrycks & Gimpel 2016)
void GeluMul(Isa isa, const float* gate, const float* up, std::int64_t n, float* out);

// out[i] = (up[i] + 1) * gate[i] * sigmoid(1.702 gate[i]), with gate cut at 7 and up at -7 and 7
// (gpt-oss' experts: OpenAI 2025, its model card, section 2.2)
void ClampedSiluMul(Isa isa, const float* gate, const float* up, std::int64_t n, float* out);

// y[i] = gelu(y[i]), of a network without a gate
void GeluInPlace(Isa isa, std::int64_t n, float* y);

// y[i] = cap * tanh(y[i] / cap): within +-cap, near y[i] for small ones (Gemma 2, 2024, section 2)
void SoftcapInPlace(Isa isa, float cap, std::int64_t n, float* y);

// Which elements of a head make a pair that is rotated together (RoPE, Su et al. 2021).
enum class RopePairs {
  kAdjacent,  // (2i, 2i+1): GGUF's llama
  kHalves,    // (i, i + d/2): "NeoX", qwen and gemma
};

// Rotates one head in place by the angles whose cosines and sines are given ([rotary_dim/2] each);
// elements past rotary_dim are left as they are.
void RotateHead(Isa isa, RopePairs pairs, const float* cosines, const float* sines,
                std::int64_t rotary_dim, float* head);

}  // namespace folio

#endif  // FOLIO_KERNELS_ELEMENTWISE_H_
