#include "kernels/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "cpu/aligned_buffer.h"
#include "kernels/machine_limits_loops.h"

namespace folio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBufferBytes = std::size_t{512} << 20;
constexpr std::size_t kSliceBytes = std::size_t{1} << 20;   // one task: slow cores take fewer
constexpr std::size_t kMarginBytes = std::size_t{1} << 20;  // what is prefetched lies in the buffer
constexpr std::int64_t kTasks = 64;
constexpr double kPassSeconds = 0.05;

LimitLoops LoopsOf(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return LimitLoopsScalar();
    case Isa::kAvx2:
      return LimitLoopsAvx2();
    case Isa::kAvx512:
      return LimitLoopsAvx512();
  }
  return LimitLoopsScalar();
}

template <typename Work>
double Seconds(const Work& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Most units of work a second: the machine's slow phases are not its limit.
template <typename Work>
double BestRate(int passes, double units, const Work& work) {
  double best = 0;
  for (int pass = 0; pass < passes; ++pass) best = std::max(best, units / Seconds(work));
  return best;
}

// Operations a second of `loop`, of `op` operations a round, on all threads.
template <typename Loop>
double OperationRate(Loop loop, double op, int passes, ThreadPool& pool) {
  std::atomic<std::int64_t> kept{0};  // so that no loop is dropped
  const auto run = [&](std::int64_t rounds) {
    pool.ParallelFor(kTasks, [&](std::int64_t, int) {
      kept.fetch_add(static_cast<std::int64_t>(loop(rounds)), std::memory_order_relaxed);
    });
  };
  std::int64_t rounds = 1000;
  while (Seconds([&] { run(rounds); }) < kPassSeconds) rounds *= 2;
  return BestRate(passes, op * static_cast<double>(rounds) * kTasks, [&] { run(rounds); });
}

}  // namespace

Result<MachineLimits> MeasureMachineLimits(Isa isa, ThreadPool& pool, int passes) {
  const LimitLoops loops = LoopsOf(isa);
  Result<AlignedBuffer> buffer = AlignedBuffer::Create(kBufferBytes + kMarginBytes, "limits");
  if (!buffer) return std::unexpected(buffer.error());
  // Pages that were never written are one page of zeros, which stays in the cache.
  std::memset(buffer->data(), 1, buffer->size());
  std::atomic<std::uint64_t> kept{0};
  MachineLimits limits;
  limits.dram_bytes_per_s = BestRate(passes, static_cast<double>(kBufferBytes), [&] {
    pool.ParallelFor(kBufferBytes / kSliceBytes, [&](std::int64_t slice, int) {
      const std::byte* data = buffer->data() + static_cast<std::size_t>(slice) * kSliceBytes;
      kept.fetch_add(loops.read(data, kSliceBytes), std::memory_order_relaxed);
    });
  });
  limits.fma_flop_per_s = OperationRate(loops.fma, loops.fma_flop, passes, pool);
  limits.dot_op_per_s = OperationRate(loops.dot, loops.dot_op, passes, pool);
  return limits;
}

}  // namespace folio
