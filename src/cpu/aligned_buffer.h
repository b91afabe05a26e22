// Large zeroed memory for weights, KV and workspaces: its own mapping, 2 MiB aligned, on huge pages
// where the system gives them. Pages are committed when first touched.
#ifndef FOLIO_CPU_ALIGNED_BUFFER_H_
#define FOLIO_CPU_ALIGNED_BUFFER_H_

#include <cstddef>
#include <span>

#include "base/error.h"

namespace folio {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // `purpose` names the buffer in the error message ("weights", "KV cache").
  static Result<AlignedBuffer> Create(std::size_t bytes, const char* purpose);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
};

}  // namespace folio

#endif  // FOLIO_CPU_ALIGNED_BUFFER_H_
