#include "cpu/isa.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace folio {
namespace {

class IsaTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("FOLIO_ISA"); }
};

TEST_F(IsaTest, NamesRoundTrip) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512})
    EXPECT_EQ(IsaFromName(IsaName(isa)), isa);
  EXPECT_EQ(IsaFromName("neon"), std::nullopt);
}

TEST_F(IsaTest, EnvironmentForcesOne) {
  setenv("FOLIO_ISA", "scalar", 1);
  EXPECT_EQ(ChooseIsa(), Isa::kScalar);
}

TEST_F(IsaTest, UnknownNameIsAUsageErrorThatNamesIt) {
  setenv("FOLIO_ISA", "sse9", 1);
  const Result<Isa> isa = ChooseIsa();
  ASSERT_FALSE(isa.has_value());
  EXPECT_EQ(isa.error().kind, ErrorKind::kUsage);
  EXPECT_NE(isa.error().Message().find("sse9"), std::string::npos);
}

TEST_F(IsaTest, BestIsOneTheCpuHas) {
  unsetenv("FOLIO_ISA");
  ASSERT_TRUE(ChooseIsa().has_value());
  EXPECT_TRUE(CpuHas(*ChooseIsa()));
}

TEST(ScopedFlushDenormalsTest, DenormalProductsAreZeroInsideAndKeptOutside) {
  volatile float tiny = 1e-30F;
  {
    const ScopedFlushDenormals flush;
    volatile float product = tiny * 1e-10F;
    EXPECT_EQ(product, 0.0F);
  }
  volatile float product = tiny * 1e-10F;
  EXPECT_NE(product, 0.0F);
}

}  // namespace
}  // namespace folio
