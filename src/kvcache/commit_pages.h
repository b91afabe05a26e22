// Makes reserved memory really there, so that a lack of it is an error value.
#ifndef FOLIO_KVCACHE_COMMIT_PAGES_H_
#define FOLIO_KVCACHE_COMMIT_PAGES_H_

#include <cstddef>

namespace folio {

// madvise's MADV_POPULATE_WRITE: Linux 5.14; older C libraries don't name it.
inline constexpr int kPopulateWrite = 23;

// Commits the pages of `data` (page-aligned, `bytes` long and zero until now): 0, or an errno. A
// kernel that doesn't know the advice has them written one by one; there a lack of memory is the
// kernel's to answer.
int CommitPages(std::byte* data, std::size_t bytes, int advice = kPopulateWrite);

}  // namespace folio

#endif  // FOLIO_KVCACHE_COMMIT_PAGES_H_
