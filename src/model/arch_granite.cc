#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {
namespace {

constexpr double kSmallestMultiplier = 1e-6;
constexpr double kLargestMultiplier = 1e6;

}  // namespace

// Granite Team 2024, "Granite 3.0 Language Models": a llama whose embeddings, scores, branches and
// logits are multiplied by constants.
Status ConfigureGranite(const ModelFile& file, ModelConfig& config) {
  config.rope_pairs = RopePairs::kAdjacent;
  ConfigReader read(file, config.architecture);
  const auto multiplier = [&read](const char* suffix, float fallback) {
    return static_cast<float>(read.FloatOr(suffix, static_cast<double>(fallback),
                                           kSmallestMultiplier, kLargestMultiplier));
  };
  config.embedding_scale = multiplier("embedding_scale", 1.0F);
  config.residual_scale = multiplier("residual_scale", 1.0F);
  config.attention_scale = multiplier("attention.scale", config.attention_scale);
  config.logit_scale = 1.0F / multiplier("logit_scale", 1.0F);
  // Granite 4's files without positions say so by this key.
  if (!read.BoolOr("rope.scaling.finetuned", true)) config.ropes[0].rotary_dim = 0;
  return read.status();
}

Status ConfigureGraniteMoe(const ModelFile& file, ModelConfig& config) {
  if (Status dense = ConfigureGranite(file, config); !dense) return dense;
  config.router.weights = RouterWeights::kSoftmaxOfChosen;
  ConfigReader read(file, config.architecture);
  config.shared_ffn = read.IntOr("expert_shared_feed_forward_length", 0, 0, kLargestDim);
  if (!read.status()) return read.status();
  return ReadExperts(file, WidthWithoutKey::kOfOne, config);
}

}  // namespace folio
