#include <cmath>

#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {
namespace {

// What files of the first days, which lack the keys, mean.
constexpr double kDefaultAttentionCap = 50.0;
constexpr double kDefaultLogitCap = 30.0;
constexpr std::int64_t kDefaultWindow = 4096;
constexpr double kSmallestCap = 1e-3;
constexpr double kLargestCap = 1e6;
// The 27B alone scales its queries by hidden / heads; no key says so.
constexpr std::size_t kLayersOf27B = 46;

}  // namespace

// Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size", section 2: layers
// that see a window and layers that see all in turn, capped scores and logits, norms around each
// branch.
Status ConfigureGemma2(const ModelFile& file, ModelConfig& config) {
  ConfigReader read(file, config.architecture);
  config.attention_softcap = static_cast<float>(
      read.FloatOr("attn_logit_softcapping", kDefaultAttentionCap, kSmallestCap, kLargestCap));
  config.logit_softcap = static_cast<float>(
      read.FloatOr("final_logit_softcapping", kDefaultLogitCap, kSmallestCap, kLargestCap));
  const std::int64_t window =
      read.IntOr("attention.sliding_window", kDefaultWindow, 1, kLargestContext);
  for (std::size_t i = 0; i < config.layers.size(); i += 2) config.layers[i].window = window;
  config.rope_pairs = RopePairs::kHalves;
  config.activation = FfnActivation::kGelu;
  config.post_norms = true;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  if (config.layers.size() == kLayersOf27B) {
    const std::int64_t width = config.hidden / config.query_heads;
    if (width == 0) read.Refuse("embedding_length", "is smaller than attention.head_count");
    config.attention_scale = 1.0F / std::sqrt(static_cast<float>(width));
  }
  return read.status();
}

}  // namespace folio
