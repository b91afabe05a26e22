// What the layers of a KV group see of a sequence.
#ifndef FOLIO_KVCACHE_KV_GROUP_SPEC_H_
#define FOLIO_KVCACHE_KV_GROUP_SPEC_H_

#include <algorithm>
#include <cstdint>

namespace folio {

// The last `window` positions, the query's own included; 0 = all.
struct KvGroupSpec {
  std::int64_t window = 0;
};

// The first block that a query at `position` sees anything of: positions (position - window,
// position]. Never falls with the position.
constexpr std::int64_t FirstSeenBlock(const KvGroupSpec& group, std::int64_t position,
                                      int block_size) {
  if (group.window == 0) return 0;
  return std::max<std::int64_t>(position - group.window + 1, 0) / block_size;
}

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_GROUP_SPEC_H_
