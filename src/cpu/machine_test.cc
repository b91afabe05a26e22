#include "cpu/machine.h"

#include <sched.h>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(MachineTest, AMaskOfOneCpuLeavesOneCore) {
  cpu_set_t saved;
  ASSERT_EQ(sched_getaffinity(0, sizeof(saved), &saved), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &saved)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(NumCores(), 1);
  sched_setaffinity(0, sizeof(saved), &saved);
}

TEST(MachineTest, AvailableMemoryIsSomeButNotMoreThanAnyMachineHas) {
  EXPECT_GT(AvailableMemory(), std::uint64_t{1} << 24);
  EXPECT_LT(AvailableMemory(), std::uint64_t{1} << 50);
}

}  // namespace
}  // namespace folio
