#include "http/file_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace folio {
namespace {

constexpr rlim_t kOtherFiles = 96;

}  // namespace

std::size_t ConnectionsAllowed() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::size_t>::max();
  rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  const rlim_t files = limit.rlim_cur;
  return files > 2 * kOtherFiles ? files - kOtherFiles : std::max<rlim_t>(files / 2, 1);
}

}  // namespace folio
