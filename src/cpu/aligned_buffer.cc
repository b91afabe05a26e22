#include "cpu/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/checked.h"

namespace folio {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Result<AlignedBuffer> AlignedBuffer::Create(std::size_t bytes, const char* purpose) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  const auto rounded = CheckedRoundUp(bytes, kHugePage);
  const auto mapped = rounded ? CheckedAdd(*rounded, kHugePage) : std::nullopt;
  if (!mapped)
    return RuntimeError("memory", purpose, "cannot reserve " + std::to_string(bytes) + " bytes");
  void* base = mmap(nullptr, *mapped, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return RuntimeError(
        "memory", purpose,
        "cannot reserve " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
  }
  // A mapping is only page aligned: cut the ends off so that the data starts on a huge page.
  const auto start = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
  const std::size_t head = aligned - start;
  if (head > 0) munmap(base, head);
  const std::size_t tail = *mapped - head - *rounded;
  auto* data = static_cast<std::byte*>(base) + head;
  if (tail > 0) munmap(data + *rounded, tail);
  if (*rounded > kHugePage)
    madvise(data, *rounded, MADV_HUGEPAGE);  // a hint: without huge pages it is only slower
  buffer.data_ = data;
  buffer.size_ = bytes;
  buffer.mapped_ = *rounded;
  return buffer;
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace folio
