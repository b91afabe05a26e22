#include "kvcache/kv_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace folio {
namespace {

using LayersByWindow = std::map<std::int64_t, std::vector<int>>;

// The sequence by which groupings are compared.
constexpr std::int64_t kTokens = 8192;

// Padding in all blocks that such a sequence holds, in units of a block's part for one token: a
// group that sees everything holds blocks for all tokens, and one with a window for few. A double,
// since sizes near 2^64 are allowed; for those that occur it is exact.
double PaddingHeld(std::span<const LayerSize> layers, const LayerGrouping& grouping) {
  double held = 0;
  for (const std::vector<int>& group : grouping.groups) {
    std::size_t padding = grouping.block_bytes;
    for (const int layer : group) padding -= layers[static_cast<std::size_t>(layer)].bytes;
    const std::int64_t window = layers[static_cast<std::size_t>(group.front())].window;
    held += static_cast<double>(padding) *
            static_cast<double>(window == 0 ? kTokens : std::min(window, kTokens));
  }
  return held;
}

// Fills groups up to `limit` bytes, which no layer exceeds.
LayerGrouping Fill(std::span<const LayerSize> layers, const LayersByWindow& by_window,
                   std::size_t limit) {
  LayerGrouping result;
  std::size_t total = 0;
  for (const auto& [window, members] : by_window) {
    std::size_t filled = limit + 1;  // the first layer opens a group
    for (const int layer : members) {
      const std::size_t bytes = layers[static_cast<std::size_t>(layer)].bytes;
      if (filled + bytes > limit) {
        result.groups.emplace_back();
        filled = 0;
      }
      result.groups.back().push_back(layer);
      filled += bytes;
      total += bytes;
      result.block_bytes = std::max(result.block_bytes, filled);
    }
  }
  result.padding_bytes = result.block_bytes * result.groups.size() - total;
  return result;
}

// The sizes worth trying: what the first layers of a window hold together, one, two, up to all. Of
// equal layers these are all sizes that a group can have.
std::set<std::size_t> Limits(std::span<const LayerSize> layers, const LayersByWindow& by_window) {
  std::size_t largest_layer = 0;
  for (const LayerSize& layer : layers) largest_layer = std::max(largest_layer, layer.bytes);
  std::set<std::size_t> limits;
  for (const auto& [window, members] : by_window) {
    std::size_t sum = 0;
    for (const int layer : members) {
      sum += layers[static_cast<std::size_t>(layer)].bytes;
      if (sum >= largest_layer) limits.insert(sum);
    }
  }
  return limits;
}

}  // namespace

LayerGrouping GroupLayers(std::span<const LayerSize> layers, std::size_t max_groups) {
  LayersByWindow by_window;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    by_window[layers[i].window].push_back(static_cast<int>(i));
  }
  const std::size_t allowed = std::max(max_groups, by_window.size());
  LayerGrouping best;
  double least = 0;
  for (const std::size_t limit : Limits(layers, by_window)) {  // rising: of equals the last wins
    LayerGrouping next = Fill(layers, by_window, limit);
    if (next.groups.size() > allowed) continue;
    const double held = PaddingHeld(layers, next);
    if (!best.groups.empty() && held > least) continue;
    least = held;
    best = std::move(next);
  }
  return best;
}

}  // namespace folio
