// Granite 3: dense, with experts, and with a network beside them that every token goes through.
#include <array>

#include "formats/huggingface/families.h"
#include "formats/huggingface/rope.h"
#include "formats/huggingface/shared_rules.h"

namespace folio {
namespace {

using RuleGroup = std::span<const TensorRule>;

// Newer writers name the same tensors as those of other families with experts, inside
// block_sparse_moe.
constexpr std::array kGraniteExpertRules = {
    TensorRule{"block_sparse_moe.router.layer.weight", "ffn_gate_inp.weight"},
    TensorRule{"block_sparse_moe.input_linear.weight", "ffn_gate.{}.weight",
               TensorForm::kTwoOfEachExpert, "ffn_up.{}.weight"},
    TensorRule{"block_sparse_moe.output_linear.weight", "ffn_down_exps.weight"},
    TensorRule{"block_sparse_moe.router.weight", "ffn_gate_inp.weight"},
    TensorRule{"block_sparse_moe.experts.gate_up_proj", "ffn_gate.{}.weight",
               TensorForm::kTwoOfEachExpert, "ffn_up.{}.weight"},
    TensorRule{"block_sparse_moe.experts.down_proj", "ffn_down_exps.weight"},
};
constexpr std::array kSharedRules = {
    TensorRule{"shared_mlp.input_linear.weight", "ffn_gate_shexp.weight", TensorForm::kTwo,
               "ffn_up_shexp.weight"},
    TensorRule{"shared_mlp.output_linear.weight", "ffn_down_shexp.weight"},
};

constexpr std::array<RuleGroup, 3> kDenseRules = {kAttentionRules, kNormRules, kFeedForwardRules};
constexpr std::array<RuleGroup, 3> kMoeRules = {kAttentionRules, kNormRules, kGraniteExpertRules};
constexpr std::array<RuleGroup, 4> kMoeSharedRules = {kAttentionRules, kNormRules,
                                                      kGraniteExpertRules, kSharedRules};

void ConfigureDense(ConfigFields& config, ModelBuilder& model) {
  RequireSilu(config);
  config.RequireFalse("attention_bias");
  MapRope(config, MapDecoder(config, model), {}, model);
  model.Set("embedding_scale", config.FloatOr("embedding_multiplier", 1.0), "embedding_multiplier");
  model.Set("residual_scale", config.FloatOr("residual_multiplier", 1.0), "residual_multiplier");
  model.Set("attention.scale", config.FloatOr("attention_multiplier", 1.0), "attention_multiplier");
  model.Set("logit_scale", config.FloatOr("logits_scaling", 1.0), "logits_scaling");
}

void ConfigureMoe(ConfigFields& config, ModelBuilder& model) {
  ConfigureDense(config, model);
  MapExperts(config, model);
}

void ConfigureMoeShared(ConfigFields& config, ModelBuilder& model) {
  ConfigureMoe(config, model);
  model.Set("expert_shared_feed_forward_length", config.Uint("shared_intermediate_size"),
            "shared_intermediate_size");
}

}  // namespace

const ModelFamily kGraniteFamily = {.model_type = "granite",
                                    .architecture = "granite",
                                    .rules = kDenseRules,
                                    .configure = ConfigureDense,
                                    .pairs_reordered = true};
const ModelFamily kGraniteMoeFamily = {.model_type = "granitemoe",
                                       .architecture = "granitemoe",
                                       .rules = kMoeRules,
                                       .configure = ConfigureMoe,
                                       .pairs_reordered = true};
const ModelFamily kGraniteMoeSharedFamily = {.model_type = "granitemoeshared",
                                             .architecture = "granitemoe",
                                             .rules = kMoeSharedRules,
                                             .configure = ConfigureMoeShared,
                                             .pairs_reordered = true};

}  // namespace folio
