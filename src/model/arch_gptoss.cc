#include <variant>

#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {

// OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model Card", section 2: experts in every layer, windows
// in every second, a sink for each head, biases everywhere.
Status ConfigureGptOss(const ModelFile& file, ModelConfig& config) {
  ConfigReader read(file, config.architecture);
  const std::int64_t window = read.Int("attention.sliding_window", 1, kLargestContext);
  for (std::size_t i = 0; i < config.layers.size(); i += 2) config.layers[i].window = window;
  config.rope_pairs = RopePairs::kHalves;
  // Its YaRN's ramp ends between two pairs (config.json's "truncate": false); no key says so.
  if (auto* yarn = std::get_if<YarnScaling>(&config.ropes[0].scaling)) yarn->whole_pairs = false;
  config.qkv_bias = true;
  config.attn_out_bias = true;
  config.attention_sinks = true;
  config.expert_bias = true;
  config.ffn_norm_tensor = "post_attention_norm";
  config.activation = FfnActivation::kClampedSilu;
  config.router.weights = RouterWeights::kSoftmaxOfChosen;
  if (!read.status()) return read.status();
  return ReadExperts(file, WidthWithoutKey::kOfOne, config);
}

}  // namespace folio
