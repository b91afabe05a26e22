// A persistent pool of compute threads. One caller at a time hands out a loop; workers spin a
// little for the next one and then park, so that a decode step of many short loops pays no system
// call and an idle engine costs nothing.
#ifndef FOLIO_CPU_THREAD_POOL_H_
#define FOLIO_CPU_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace folio {

// Results must not depend on which thread runs a task or on how many there are: cut work by output,
// never by partial sums.
class ThreadPool {
 public:
  // `threads` counts the caller: 1 runs all inline. size() is less where the system starts fewer.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(task, thread) for every task in [0, tasks), thread in [0, size()); returns when all
  // are done. Tasks are claimed one by one, in order, so a slow core takes fewer. Denormals are
  // flushed on every thread meanwhile. `fn` must not throw nor call ParallelFor.
  template <typename Fn>
  void ParallelFor(std::int64_t tasks, Fn&& fn) {
    using Body = std::remove_reference_t<Fn>;
    Run(
        tasks,
        [](void* body, std::int64_t task, int thread) {
          (*static_cast<Body*>(body))(task, thread);
        },
        const_cast<void*>(static_cast<const void*>(std::addressof(fn))));
  }

 private:
  using Call = void (*)(void* body, std::int64_t task, int thread);

  void Run(std::int64_t tasks, Call call, void* body);
  void WorkerLoop(int thread);
  void ClaimTasks(int thread);

  // The loop being run. Written by the caller before `epoch_` is raised, read by workers after they
  // saw it.
  Call call_ = nullptr;
  void* body_ = nullptr;
  std::int64_t tasks_ = 0;
  alignas(64) std::atomic<std::int64_t> next_task_{0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  alignas(64) std::atomic<int> busy_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace folio

#endif  // FOLIO_CPU_THREAD_POOL_H_
