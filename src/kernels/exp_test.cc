#include "kernels/exp.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/isa.h"

namespace folio {
namespace {

// |Exp(x) - e^x| in units in the last place of the exact value's binade.
double UlpError(float x) {
  const long double exact = std::exp(static_cast<long double>(x));
  const int exponent = std::ilogb(exact);
  return static_cast<double>(std::fabs(static_cast<long double>(Exp(x)) - exact) /
                             std::ldexp(1.0L, exponent - 23));
}

TEST(ExpTest, IsWithinOneUlpOverItsWholeRange) {
  const ScopedFlushDenormals flush;
  double worst = 0.0;
  for (float x = -87.33F; x <= 88.72F; x += 2.5e-5F * std::fmax(1.0F, std::fabs(x) / 8.0F)) {
    worst = std::fmax(worst, UlpError(x));
  }
  EXPECT_LE(worst, 1.0);
}

TEST(ExpTest, IsWithinOneUlpAroundEveryMultipleOfHalfLn2) {
  // Where the reduced argument is largest and where n changes.
  const ScopedFlushDenormals flush;
  for (int half = -251; half <= 255; ++half) {
    const auto center = static_cast<float>(half * 0.34657359027997264);
    const std::int32_t bits = std::bit_cast<std::int32_t>(center);
    for (int step = -200; step <= 200; ++step) {
      const float x = std::bit_cast<float>(bits + (center == 0.0F ? std::abs(step) : step));
      if (x < -87.33F || x > 88.72F) continue;
      ASSERT_LE(UlpError(x), 1.0) << x;
    }
  }
}

TEST(ExpTest, SaturatesAtBothEnds) {
  const ScopedFlushDenormals flush;
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp(-infinity), 0.0F);
  EXPECT_EQ(Exp(-1e30F), 0.0F);
  EXPECT_EQ(Exp(-87.34F), 0.0F);
  EXPECT_GT(Exp(-87.33F), std::numeric_limits<float>::min());
  EXPECT_EQ(Exp(0.0F), 1.0F);
  EXPECT_EQ(Exp(-0.0F), 1.0F);
  EXPECT_TRUE(std::isfinite(Exp(88.72F)));
  EXPECT_EQ(Exp(88.73F), infinity);
  EXPECT_EQ(Exp(infinity), infinity);
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(ExpTest, NeverDecreases) {
  const ScopedFlushDenormals flush;
  float before = 0.0F;
  for (float x = -20.0F; x <= 20.0F; x += 1e-4F) {
    const float value = Exp(x);
    ASSERT_GE(value, before) << x;
    before = value;
  }
}

}  // namespace
}  // namespace folio
