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

}  // namespace
}  // namespace folio
