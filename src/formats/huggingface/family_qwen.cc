// Qwen 2 and 2.5, Qwen 3, both with experts too; OLMoE, whose tensors have the same names.
#include <array>

#include "formats/huggingface/families.h"
#include "formats/huggingface/rope.h"
#include "formats/huggingface/shared_rules.h"

namespace folio {
namespace {

using RuleGroup = std::span<const TensorRule>;

constexpr std::array kSharedExpertRules = {
    TensorRule{"mlp.shared_expert.gate_proj.weight", "ffn_gate_shexp.weight"},
    TensorRule{"mlp.shared_expert.up_proj.weight", "ffn_up_shexp.weight"},
    TensorRule{"mlp.shared_expert.down_proj.weight", "ffn_down_shexp.weight"},
    TensorRule{"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"},
};

constexpr std::array<RuleGroup, 4> kQwen2Rules = {kAttentionRules, kAttentionBiasRules, kNormRules,
                                                  kFeedForwardRules};
constexpr std::array<RuleGroup, 4> kQwen3Rules = {kAttentionRules, kAttentionNormRules, kNormRules,
                                                  kFeedForwardRules};
constexpr std::array<RuleGroup, 6> kQwen2MoeRules = {kAttentionRules, kAttentionBiasRules,
                                                     kNormRules,      kExpertRules,
                                                     kRouterRules,    kSharedExpertRules};
constexpr std::array<RuleGroup, 5> kNormedMoeRules = {kAttentionRules, kAttentionNormRules,
                                                      kNormRules, kExpertRules, kRouterRules};

void ConfigureQwen(ConfigFields& config, ModelBuilder& model) {
  RequireSilu(config);
  config.RequireFalse("attention_bias");
  config.RequireFalse("use_sliding_window");
  RequireFullAttention(config);
  MapRope(config, MapDecoder(config, model), {}, model);
}

void MapExpertWidth(ConfigFields& config, ModelBuilder& model) {
  RequireExpertsInAllLayers(config);
  MapExperts(config, model);
  model.Set("expert_feed_forward_length", config.Uint("moe_intermediate_size"),
            "moe_intermediate_size");
}

void ConfigureQwen2Moe(ConfigFields& config, ModelBuilder& model) {
  ConfigureQwen(config, model);
  MapExpertWidth(config, model);
  config.RequireFalse("norm_topk_prob");
  model.Set("expert_shared_feed_forward_length", config.Uint("shared_expert_intermediate_size"),
            "shared_expert_intermediate_size");
}

void ConfigureQwen3Moe(ConfigFields& config, ModelBuilder& model) {
  ConfigureQwen(config, model);
  MapExpertWidth(config, model);
  if (!config.BoolOr("norm_topk_prob", false))
    config.Refuse("norm_topk_prob", "is false; supported is only true");
}

void ConfigureOlmoe(ConfigFields& config, ModelBuilder& model) {
  ConfigureQwen(config, model);
  config.RequireAbsent("clip_qkv");
  config.RequireFalse("norm_topk_prob");
  MapExperts(config, model);
}

}  // namespace

const ModelFamily kQwen2Family = {.model_type = "qwen2",
                                  .architecture = "qwen2",
                                  .rules = kQwen2Rules,
                                  .configure = ConfigureQwen};
const ModelFamily kQwen3Family = {.model_type = "qwen3",
                                  .architecture = "qwen3",
                                  .rules = kQwen3Rules,
                                  .configure = ConfigureQwen};
const ModelFamily kQwen2MoeFamily = {.model_type = "qwen2_moe",
                                     .architecture = "qwen2moe",
                                     .rules = kQwen2MoeRules,
                                     .configure = ConfigureQwen2Moe};
const ModelFamily kQwen3MoeFamily = {.model_type = "qwen3_moe",
                                     .architecture = "qwen3moe",
                                     .rules = kNormedMoeRules,
                                     .configure = ConfigureQwen3Moe};
const ModelFamily kOlmoeFamily = {.model_type = "olmoe",
                                  .architecture = "olmoe",
                                  .rules = kNormedMoeRules,
                                  .configure = ConfigureOlmoe};

}  // namespace folio
