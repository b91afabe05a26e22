#include <utility>
#include <vector>

#include "model/architectures.h"
#include "model/rope_config.h"

namespace folio {

Status ConfigureLlama(const ModelFile& file, ModelConfig& config) {
  config.rope_pairs = RopePairs::kAdjacent;
  if (file.FindTensor("rope_freqs.weight") != nullptr) {
    RopeConfig& rope = config.ropes[0];
    Result<std::vector<float>> factors =
        ReadRopeFactors(file, "rope_freqs.weight", rope.rotary_dim / 2);
    if (!factors) return std::unexpected(factors.error());
    rope.frequency_factors = *std::move(factors);
  }
  if (Status window = ReadWindow(file, config); !window) return window;  // Mistral's first
  const Result<std::uint64_t> experts = file.GetUintOr("llama.expert_count", 0);
  if (!experts) return std::unexpected(experts.error());
  if (*experts == 0) return {};
  // Mixtral (Jiang et al. 2024): experts as wide as the file says of its networks.
  config.router.weights = RouterWeights::kRenormalised;
  return ReadExperts(file, WidthWithoutKey::kOfOne, config);
}

}  // namespace folio
