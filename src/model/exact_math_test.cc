#include "model/exact_math.h"

#include <cmath>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ExactMathTest, SineAndCosineAreWithinTheirStatedError) {
  for (int i = 0; i < 200000; ++i) {
    const double x = (i - 1000) * (i < 2000 ? 0.001 : 7.77);
    const SinCos value = ExactSinCos(x);
    EXPECT_NEAR(value.sine, static_cast<double>(sinl(x)), 0x1p-50) << x;
    EXPECT_NEAR(value.cosine, static_cast<double>(cosl(x)), 0x1p-50) << x;
  }
}

TEST(ExactMathTest, ExpAndLogAreWithinTheirStatedError) {
  for (int i = 1; i < 100000; ++i) {
    const double x = (i - 50000) * 0.0137;
    EXPECT_NEAR(ExactExp(x) / static_cast<double>(expl(x)), 1.0, 0x1p-49) << x;
    const double y = i * 123.456;
    EXPECT_NEAR(ExactLog(y), static_cast<double>(logl(y)), 0x1p-49 * std::max(1.0, std::log(y)))
        << y;
  }
}

TEST(ExactMathTest, PowersAreWithinTheirStatedError) {
  for (const double x : {1e-3, 0.5, 2.0, 1e4, 1e6, 1e12}) {
    for (int i = -40; i <= 40; ++i) {
      const double y = i * 0.03125;
      const double bound = 0x1p-49 * (1 + 2 * std::abs(y) * std::max(1.0, std::abs(std::log(x))));
      EXPECT_NEAR(ExactPow(x, y) / static_cast<double>(powl(x, y)), 1.0, bound) << x << "^" << y;
      EXPECT_NEAR(ExactExp2(8 * y) / static_cast<double>(exp2l(8 * y)), 1.0, 0x1p-49) << 8 * y;
    }
  }
  EXPECT_EQ(ExactExp2(-8.0), 1.0 / 256);
  EXPECT_EQ(ExactExp2(3.0), 8.0);
}

}  // namespace
}  // namespace folio
