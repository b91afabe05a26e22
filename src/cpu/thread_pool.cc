#include "cpu/thread_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <system_error>

#include "cpu/isa.h"

namespace folio {
namespace {

// About 50 us: longer than the scalar work between two loops of a step, shorter than anybody
// notices.
constexpr int kSpins = 2000;

}  // namespace

ThreadPool::ThreadPool(int threads) {
  workers_.reserve(static_cast<std::size_t>(std::max(threads - 1, 0)));
  for (int thread = 1; thread < threads; ++thread) {
    try {
      workers_.emplace_back([this, thread] { WorkerLoop(thread); });
    } catch (const std::system_error&) {
      return;  // a limit on processes or memory: size() says how many there are
    }
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ClaimTasks(int thread) {
  for (std::int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed); task < tasks_;
       task = next_task_.fetch_add(1, std::memory_order_relaxed)) {
    call_(body_, task, thread);
  }
}

void ThreadPool::Run(std::int64_t tasks, Call call, void* body) {
  const ScopedFlushDenormals flush;
  if (workers_.empty() || tasks <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) call(body, task, 0);
    return;
  }
  call_ = call;
  body_ = body;
  tasks_ = tasks;
  next_task_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  ClaimTasks(0);
  for (int spins = 0; busy_.load(std::memory_order_acquire) != 0;) {
    if (++spins < kSpins) {
      _mm_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::WorkerLoop(int thread) {
  const ScopedFlushDenormals flush;
  std::uint32_t seen = 0;
  while (true) {
    for (int spins = 0; epoch_.load(std::memory_order_acquire) == seen && spins < kSpins; ++spins)
      _mm_pause();
    epoch_.wait(seen, std::memory_order_acquire);
    ++seen;  // the caller waits for every worker before it raises the epoch again: no loop is
             // missed
    if (stopping_.load(std::memory_order_relaxed)) return;
    ClaimTasks(thread);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace folio
