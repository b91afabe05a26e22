// Llama 2 and 3, SmolLM2; Mistral; Mixtral.
#include <array>

#include "formats/huggingface/families.h"
#include "formats/huggingface/rope.h"
#include "formats/huggingface/shared_rules.h"

namespace folio {
namespace {

constexpr std::array<std::span<const TensorRule>, 3> kDenseRules = {kAttentionRules, kNormRules,
                                                                    kFeedForwardRules};

constexpr std::array kMixtralExpertRules = {
    TensorRule{"block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
    TensorRule{"block_sparse_moe.experts.{}.w1.weight", "ffn_gate.{}.weight"},
    TensorRule{"block_sparse_moe.experts.{}.w3.weight", "ffn_up.{}.weight"},
    TensorRule{"block_sparse_moe.experts.{}.w2.weight", "ffn_down.{}.weight"},
};
constexpr std::array<std::span<const TensorRule>, 5> kMixtralRules = {
    kAttentionRules, kNormRules, kMixtralExpertRules, kExpertRules, kRouterRules};

void ConfigureDense(ConfigFields& config, ModelBuilder& model) {
  RequireSilu(config);
  config.RequireFalse("attention_bias");
  MapRope(config, MapDecoder(config, model), {.takes_frequency_divisors = true}, model);
}

// Mistral's first model sees a window of positions in every layer.
void ConfigureMistral(ConfigFields& config, ModelBuilder& model) {
  ConfigureDense(config, model);
  if (config.Has("sliding_window"))
    model.Set("attention.sliding_window", config.Uint("sliding_window"), "sliding_window");
}

void ConfigureMixtral(ConfigFields& config, ModelBuilder& model) {
  ConfigureMistral(config, model);
  MapExperts(config, model);
}

}  // namespace

const ModelFamily kLlamaFamily = {.model_type = "llama",
                                  .architecture = "llama",
                                  .rules = kDenseRules,
                                  .configure = ConfigureDense,
                                  .pairs_reordered = true};
const ModelFamily kMistralFamily = {.model_type = "mistral",
                                    .architecture = "llama",
                                    .rules = kDenseRules,
                                    .configure = ConfigureMistral,
                                    .pairs_reordered = true};
const ModelFamily kMixtralFamily = {.model_type = "mixtral",
                                    .architecture = "llama",
                                    .rules = kMixtralRules,
                                    .configure = ConfigureMixtral,
                                    .pairs_reordered = true};

}  // namespace folio
