// Integer arithmetic that reports overflow: every size computed from a file's numbers goes through
// these.
#ifndef FOLIO_BASE_CHECKED_H_
#define FOLIO_BASE_CHECKED_H_

#include <concepts>
#include <optional>

namespace folio {

template <std::integral T>
std::optional<T> CheckedAdd(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
std::optional<T> CheckedMul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// `value` rounded up to a multiple of `step` (step > 0).
template <std::integral T>
std::optional<T> CheckedRoundUp(T value, T step) {
  const std::optional<T> sum = CheckedAdd<T>(value, step - 1);
  if (!sum) return std::nullopt;
  return *sum / step * step;
}

}  // namespace folio

#endif  // FOLIO_BASE_CHECKED_H_
