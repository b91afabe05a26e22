// The caches of the first core, as Linux names them.
#ifndef FOLIO_APPS_FOLIO_LAB_CPU_CACHES_H_
#define FOLIO_APPS_FOLIO_LAB_CPU_CACHES_H_

#include <cstddef>
#include <vector>

namespace folio {

struct CpuCache {
  int level = 0;
  std::size_t bytes = 0;
};

// Those that hold data, nearest first; empty where the system says nothing.
std::vector<CpuCache> DataCaches();

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_CPU_CACHES_H_
