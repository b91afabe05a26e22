// Floats that end exactly where an unreadable page begins: reading or writing past them faults.
#ifndef FOLIO_KERNELS_GUARDED_FLOATS_TESTING_H_
#define FOLIO_KERNELS_GUARDED_FLOATS_TESTING_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <vector>

namespace folio {

class GuardedFloats {
 public:
  explicit GuardedFloats(const std::vector<float>& values) : GuardedFloats(std::span(values)) {}
  explicit GuardedFloats(std::span<const float> values) : count_(values.size()) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = (count_ * sizeof(float) + page - 1) / page * page;
    mapped_ = bytes + page;
    base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(static_cast<std::byte*>(base_) + bytes, page, PROT_NONE);
    data_ = reinterpret_cast<float*>(static_cast<std::byte*>(base_) + bytes) - count_;
    std::copy(values.begin(), values.end(), data_);
  }
  ~GuardedFloats() { munmap(base_, mapped_); }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;

  float* data() { return data_; }
  std::vector<float> copy() const { return {data_, data_ + count_}; }

 private:
  void* base_ = nullptr;
  std::size_t mapped_ = 0;
  float* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace folio

#endif  // FOLIO_KERNELS_GUARDED_FLOATS_TESTING_H_
