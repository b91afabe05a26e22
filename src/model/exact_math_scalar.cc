#include "model/exact_math.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace folio {
namespace {

// pi/2 and ln 2 cut into parts that add up to far more than 53 bits.
constexpr double kHalfPi1 = 0x1.921fb54442d18p+0;
constexpr double kHalfPi2 = 0x1.1a62633145c07p-54;
constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr int kExpTerms = 14;  // |r| <= 0.35: r^14 / 14! < 2^-57
constexpr int kTrigTerms = 9;  // |r| <= 0.79: r^18 / 18! < 2^-58
constexpr int kLogTerms = 13;  // |s| <= 0.172: s^27 / 27 < 2^-73

// sum over i of (-1)^i r^(2i) / ((first)(first+1)...(first+2i-1)), by Horner: cos for first = 1,
// sin/r for first = 2.
double AlternatingSeries(double r2, double first) {
  double sum = 1.0;
  for (int i = kTrigTerms; i >= 1; --i) {
    const double a = first + 2 * i - 2;
    sum = std::fma(-r2 / (a * (a + 1)), sum, 1.0);
  }
  return sum;
}

}  // namespace

SinCos ExactSinCos(double x) {
  const double n = std::nearbyint(x * kTwoOverPi);
  const double r = std::fma(-n, kHalfPi2, std::fma(-n, kHalfPi1, x));
  const double r2 = r * r;
  const double cosine = AlternatingSeries(r2, 1);
  const double sine = r * AlternatingSeries(r2, 2);
  switch (static_cast<std::int64_t>(n) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

double ExactExp(double x) {
  const double n = std::nearbyint(x * kLog2E);
  const double r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
  double sum = 1.0;
  for (int i = kExpTerms; i >= 1; --i) sum = std::fma(r / i, sum, 1.0);
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023);
  return sum * std::bit_cast<double>(exponent << 52);
}

double ExactLog(double x) {
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(s), s = (m - 1) / (m + 1).
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto e = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffU) | 0x3ff0000000000000U);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int i = kLogTerms; i >= 0; --i) sum = std::fma(sum, s * s, 1.0 / (2 * i + 1));
  const auto ed = static_cast<double>(e);
  return std::fma(ed, kLn2High, std::fma(ed, kLn2Low, 2 * s * sum));
}

double ExactPow(double x, double y) { return ExactExp(y * ExactLog(x)); }

double ExactExp2(double x) {
  const double n = std::nearbyint(x);
  return std::ldexp(ExactExp((x - n) * kLn2High), static_cast<int>(n));
}

}  // namespace folio
