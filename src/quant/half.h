// Scalar conversions between the 16-bit float formats and fp32, without hardware help.
#ifndef FOLIO_QUANT_HALF_H_
#define FOLIO_QUANT_HALF_H_

#include <bit>
#include <cstdint>

namespace folio {

// IEEE 754 binary16 to binary32: exact, denormals included (integers only, so no MXCSR mode changes
// it).
inline float HalfToFloat(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  std::uint32_t exponent = (half >> 10) & 0x1fU;
  std::uint32_t mantissa = half & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    const int shift = std::countl_zero(mantissa) - 21;  // brings the leading one to bit 10
    mantissa = (mantissa << shift) & 0x3ffU;
    exponent = static_cast<std::uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// binary32 to binary16, round to nearest even; overflow gives infinity, NaN stays a quiet NaN.
inline std::uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U)
    return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U)
    return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65520 and above
  if (magnitude < 0x33000001U)
    return static_cast<std::uint16_t>(sign);  // 2^-25 and below round to zero
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent < 113) {  // a binary16 denormal
    const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    const std::uint32_t shift = 126 - exponent;
    const std::uint32_t half = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1U << shift) - 1);
    const std::uint32_t middle = 1U << (shift - 1);
    return static_cast<std::uint16_t>(
        sign | (half + ((rest > middle || (rest == middle && (half & 1U))) ? 1U : 0U)));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - (112U << 23)) >> 13));
}

inline float Bf16ToFloat(std::uint16_t bf16) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16);
}

// fp32 to bf16, round to nearest even; denormals become zero of their sign, NaN stays a quiet NaN
// (as VCVTNE2PS2BF16).
inline std::uint16_t FloatToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  if (magnitude < 0x00800000U) return static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace folio

#endif  // FOLIO_QUANT_HALF_H_
