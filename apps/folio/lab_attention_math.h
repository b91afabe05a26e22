// The arithmetic on blocks in fast memory that the attention lab's algorithms share, counted as it
// is done.
#ifndef FOLIO_APPS_FOLIO_LAB_ATTENTION_MATH_H_
#define FOLIO_APPS_FOLIO_LAB_ATTENTION_MATH_H_

#include <cstdint>

namespace folio {

struct Operations {
  std::int64_t multiply_adds = 0;  // of the products with Q, K, V and their gradients
  std::int64_t exponentials = 0;
  std::int64_t others = 0;  // scale, compare, subtract, sum, divide, rescale

  std::int64_t total() const { return multiply_adds + exponentials + others; }
};

// The sum of a[i] * b[i].
inline float Dot(const float* a, const float* b, std::int64_t n, Operations& done) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  float sum = 0;
  for (; i < n; ++i) sum += a[i] * b[i];
  for (const float lane : lanes) sum += lane;
  done.multiply_adds += n;
  return sum;
}

// y += a * x
inline void AddScaled(float a, const float* x, std::int64_t n, float* y, Operations& done) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
  done.multiply_adds += n;
}

// y *= a
inline void Rescale(float a, std::int64_t n, float* y, Operations& done) {
  for (std::int64_t i = 0; i < n; ++i) y[i] *= a;
  done.others += n;
}

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_ATTENTION_MATH_H_
