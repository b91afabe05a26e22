#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {

// Qwen Team 2024: experts weighed by their probabilities as they are, and a network for all tokens
// behind a sigmoid gate.
Status ConfigureQwen2Moe(const ModelFile& file, ModelConfig& config) {
  if (Status dense = ConfigureQwen2(file, config); !dense) return dense;
  config.router.weights = RouterWeights::kScores;
  ConfigReader read(file, config.architecture);
  config.shared_ffn = read.IntOr("expert_shared_feed_forward_length", config.ffn, 1, kLargestDim);
  config.shared_gate = true;
  if (!read.status()) return read.status();
  return ReadExperts(file, WidthWithoutKey::kOfChosen, config);
}

}  // namespace folio
