#include "kvcache/commit_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace folio {

int CommitPages(std::byte* data, std::size_t bytes, int advice) {
  if (madvise(data, bytes, advice) == 0) return 0;
  if (errno != EINVAL) return errno;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes; at += page) {
    *static_cast<volatile std::byte*>(data + at) = std::byte{0};
  }
  return 0;
}

}  // namespace folio
