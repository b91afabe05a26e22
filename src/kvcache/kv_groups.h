// How a model's layers fall into KV groups.
#ifndef FOLIO_KVCACHE_KV_GROUPS_H_
#define FOLIO_KVCACHE_KV_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace folio {

struct LayerSize {
  std::int64_t window = 0;  // 0 = all positions
  std::size_t bytes = 0;    // of the layer's part in a block
};

struct LayerGrouping {
  std::vector<std::vector<int>> groups;  // of layers of one window, rising
  std::size_t block_bytes = 0;           // the largest group's
  std::size_t padding_bytes = 0;         // what the other groups lack of it, together
};

// The grouping by which a sequence of 8192 tokens holds the least padding, of those with at most
// `max_groups` groups, and of equals the one with the largest blocks; if there is none, one group
// for each window. Groups take layers in order of depth. O(layers^2).
LayerGrouping GroupLayers(std::span<const LayerSize> layers, std::size_t max_groups);

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_GROUPS_H_
