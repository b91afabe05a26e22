// Measures what code that cannot be instrumented reads of a buffer, as a machine with little fast
// memory would: the buffer's pages are out of reach, a touched one comes in, and when so many are
// in, the one that came first goes out again. Whole pages are counted.
#ifndef FOLIO_APPS_FOLIO_LAB_ATTENTION_PAGES_H_
#define FOLIO_APPS_FOLIO_LAB_ATTENTION_PAGES_H_

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"

namespace folio {

// One at a time in a process, and only the thread that started it may touch the buffer meanwhile.
class PageTrace {
 public:
  // `memory` begins at a page and has its last page to itself. At least four pages fit in, however
  // few bytes are given: an instruction may touch two.
  static Result<std::unique_ptr<PageTrace>> Start(std::span<std::byte> memory,
                                                  std::uint64_t fast_bytes);
  ~PageTrace();
  PageTrace(const PageTrace&) = delete;
  PageTrace& operator=(const PageTrace&) = delete;

  std::uint64_t bytes_read() const { return came_in_ * page_bytes_; }
  std::uint64_t fast_bytes() const { return resident_.size() * page_bytes_; }

 private:
  PageTrace(std::span<std::byte> memory, std::size_t pages, std::size_t page_bytes);
  static void OnFault(int signal, siginfo_t* info, void* context);
  // False if the address is not in the buffer.
  bool Admit(const void* address);
  bool Protect(std::byte* page, std::size_t bytes, int protection) const;

  std::span<std::byte> memory_;
  std::size_t page_bytes_;
  std::vector<std::byte*> resident_;  // a ring; null: still empty
  std::size_t next_ = 0;              // of the ring: who goes next
  std::uint64_t came_in_ = 0;
  struct sigaction before_ = {};
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_ATTENTION_PAGES_H_
