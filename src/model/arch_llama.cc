#include "model/architectures.h"

namespace folio {

Status ConfigureLlama(const Gguf& file, ModelConfig& config) {
  config.rope_pairs = RopePairs::kAdjacent;
  config.ropes[0].frequency_factors = file.FindTensor("rope_freqs.weight") != nullptr;
  const Result<std::uint64_t> experts = file.GetUintOr("llama.expert_count", 0);
  if (!experts) return std::unexpected(experts.error());
  if (*experts == 0) return {};
  // Mixtral (Jiang et al. 2024): experts as wide as the file says of its networks.
  config.router.weights = RouterWeights::kRenormalised;
  return ReadExperts(file, WidthWithoutKey::kOfOne, config);
}

}  // namespace folio
