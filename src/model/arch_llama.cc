#include "model/architectures.h"

namespace folio {

Status ConfigureLlama(const Gguf& file, ModelConfig& config) {
  const Result<std::uint64_t> experts = file.GetUintOr("llama.expert_count", 0);
  if (!experts) return std::unexpected(experts.error());
  if (*experts != 0) {
    return InputError(
        file.path(), "llama.expert_count",
        "is " + std::to_string(*experts) + ": Mixture of Experts models are not supported yet");
  }
  config.rope_pairs = RopePairs::kAdjacent;
  config.ropes[0].frequency_factors = file.FindTensor("rope_freqs.weight") != nullptr;
  return {};
}

}  // namespace folio
