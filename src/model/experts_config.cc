// The keys of GGUF that say how a Mixture of Experts is made.
#include <algorithm>
#include <cstdint>

#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {

Status ReadExperts(const ModelFile& file, WidthWithoutKey width, ModelConfig& config) {
  ConfigReader read(file, config.architecture);
  config.router.experts = static_cast<int>(read.Int("expert_count", 1, kMostExperts));
  const int most = std::min(config.router.experts, kMostExpertsPerToken);
  config.router.top_k =
      static_cast<int>(read.Int("expert_used_count", 1, static_cast<std::uint64_t>(most)));
  const std::int64_t fallback =
      width == WidthWithoutKey::kOfOne ? config.ffn : config.ffn / config.router.top_k;
  config.expert_ffn = read.IntOr("expert_feed_forward_length", fallback, 1, kLargestDim);
  const std::int64_t dense = read.IntOr("leading_dense_block_count", 0, 0, config.layers.size());
  for (std::size_t i = static_cast<std::size_t>(dense); i < config.layers.size(); ++i) {
    config.layers[i].experts = true;
    config.layers[i].moe_index = config.moe_layers++;
  }
  return read.status();
}

}  // namespace folio
