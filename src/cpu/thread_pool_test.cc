#include "cpu/thread_pool.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ThreadPoolTest, EveryTaskRunsOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const int tasks : {0, 1, 2, 3, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      pool.ParallelFor(tasks, [&](std::int64_t task, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        runs[static_cast<std::size_t>(task)].fetch_add(1);
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPoolTest, ManyShortLoopsInARowAreAllCompleted) {
  ThreadPool pool(4);
  std::atomic<std::int64_t> sum{0};
  for (int loop = 0; loop < 3000; ++loop) {
    pool.ParallelFor(
        3, [&](std::int64_t task, int) { sum.fetch_add(task + 1, std::memory_order_relaxed); });
  }
  EXPECT_EQ(sum.load(), 3000 * 6);
}

TEST(ThreadPoolTest, DenormalsAreFlushedOnEveryThread) {
  ThreadPool pool(3);
  std::atomic<int> kept{0};
  volatile float tiny = 1e-30F;
  pool.ParallelFor(100, [&](std::int64_t, int) {
    volatile float product = tiny * 1e-10F;
    if (product != 0.0F) kept.fetch_add(1);
  });
  EXPECT_EQ(kept.load(), 0);
}

}  // namespace
}  // namespace folio
