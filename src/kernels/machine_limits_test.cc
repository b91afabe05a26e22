#include "kernels/machine_limits.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

// Speeds are not tested; that each loop runs and counts what it did is.
TEST(MachineLimitsTest, EveryInstructionSetHasLimits) {
  ThreadPool pool(2);
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!CpuHas(isa)) continue;
    const auto limits = MeasureMachineLimits(isa, pool, /*passes=*/1);
    ASSERT_TRUE(limits.has_value());
    EXPECT_GT(limits->dram_bytes_per_s, 1e8);
    EXPECT_GT(limits->fma_flop_per_s, 1e7);
    EXPECT_GT(limits->dot_op_per_s, 1e7);
    EXPECT_LT(limits->dot_op_per_s, 1e15);
  }
}

}  // namespace
}  // namespace folio
