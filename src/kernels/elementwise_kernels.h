// The functions that each ISA gives for elementwise.h. Plain pointers: ISA files include this.
#ifndef FOLIO_KERNELS_ELEMENTWISE_KERNELS_H_
#define FOLIO_KERNELS_ELEMENTWISE_KERNELS_H_

#include <cstdint>

namespace folio {

struct ElementwiseKernels {
  void (*rms_norm)(const float* x, const float* weight, std::int64_t n, float eps, float* out);
  void (*layer_norm)(const float* x, const float* weight, const float* bias, std::int64_t n,
                     float eps, float* out);
  void (*add)(const float* x, std::int64_t n, float* y);
  void (*scale)(float factor, std::int64_t n, float* y);
  void (*mul_add)(float factor, const float* x, std::int64_t n, float* y);
  void (*silu_mul)(const float* gate, const float* up, std::int64_t n, float* out);
  void (*gelu_mul)(const float* gate, const float* up, std::int64_t n, float* out);
  void (*clamped_silu_mul)(const float* gate, const float* up, std::int64_t n, float* out);
  void (*gelu)(std::int64_t n, float* y);
  void (*softcap)(float cap, std::int64_t n, float* y);
  void (*rotate_adjacent)(const float* cosines, const float* sines, std::int64_t pairs,
                          float* head);
  void (*rotate_halves)(const float* cosines, const float* sines, std::int64_t pairs, float* head);
};

// tanh-form GELU as g / (1 + exp(kGeluScale * (g + kGeluCubic g^3))): kGeluScale = -2 sqrt(2/pi).
constexpr float kGeluScale = -1.5957691216057308F;
constexpr float kGeluCubic = 0.044715F;

// gpt-oss' gate: its values are cut at kGateLimit, and its sigmoid is kGateSlope times as steep.
constexpr float kGateLimit = 7.0F;
constexpr float kGateSlope = 1.702F;

extern const ElementwiseKernels kElementwiseScalar;
extern const ElementwiseKernels kElementwiseAvx2;
extern const ElementwiseKernels kElementwiseAvx512;

}  // namespace folio

#endif  // FOLIO_KERNELS_ELEMENTWISE_KERNELS_H_
