// DeepSeek V2 and V3: latent attention, and experts behind a few dense layers.
#include <array>
#include <string>

#include "formats/huggingface/families.h"
#include "formats/huggingface/rope.h"
#include "formats/huggingface/shared_rules.h"

namespace folio {
namespace {

// expert_gating_func of GGUF.
constexpr std::uint64_t kSoftmax = 1;
constexpr std::uint64_t kSigmoid = 2;

constexpr std::array kLatentRules = {
    TensorRule{"self_attn.q_proj.weight", "attn_q.weight"},
    TensorRule{"self_attn.q_a_proj.weight", "attn_q_a.weight"},
    TensorRule{"self_attn.q_a_layernorm.weight", "attn_q_a_norm.weight"},
    TensorRule{"self_attn.q_b_proj.weight", "attn_q_b.weight"},
    TensorRule{"self_attn.kv_a_proj_with_mqa.weight", "attn_kv_a_mqa.weight"},
    TensorRule{"self_attn.kv_a_layernorm.weight", "attn_kv_a_norm.weight"},
    TensorRule{"self_attn.kv_b_proj.weight", "attn_kv_b.weight"},
    TensorRule{"self_attn.o_proj.weight", "attn_output.weight"},
};
constexpr std::array kSharedRules = {
    TensorRule{"mlp.shared_experts.gate_proj.weight", "ffn_gate_shexp.weight"},
    TensorRule{"mlp.shared_experts.up_proj.weight", "ffn_up_shexp.weight"},
    TensorRule{"mlp.shared_experts.down_proj.weight", "ffn_down_shexp.weight"},
    TensorRule{"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
};
constexpr std::array<std::span<const TensorRule>, 6> kRules = {
    kLatentRules, kNormRules, kFeedForwardRules, kExpertRules, kRouterRules, kSharedRules};

void MapLatentAttention(ConfigFields& config, ModelBuilder& model) {
  const std::uint64_t rotary = config.Uint("qk_rope_head_dim");
  MapDecoder(config, model);
  model.Set("attention.key_length", config.Uint("qk_nope_head_dim") + rotary, "qk_nope_head_dim");
  model.Set("attention.value_length", config.Uint("v_head_dim"), "v_head_dim");
  model.Set("attention.kv_lora_rank", config.Uint("kv_lora_rank"), "kv_lora_rank");
  if (config.Has("q_lora_rank"))
    model.Set("attention.q_lora_rank", config.Uint("q_lora_rank"), "q_lora_rank");
  model.Set("rope.dimension_count", rotary, "qk_rope_head_dim");
  MapRope(config, rotary, {.mscale_is_temperature = true}, model);
}

void MapLatentExperts(ConfigFields& config, ModelBuilder& model) {
  if (config.UintOr("moe_layer_freq", 1) != 1)
    config.Refuse("moe_layer_freq", "is not 1, which alone is supported");
  model.Set("expert_count", config.Uint("n_routed_experts"), "n_routed_experts");
  model.Set("expert_used_count", config.Uint("num_experts_per_tok"), "num_experts_per_tok");
  model.Set("leading_dense_block_count", config.UintOr("first_k_dense_replace", 0),
            "first_k_dense_replace");
  model.Set("expert_feed_forward_length", config.Uint("moe_intermediate_size"),
            "moe_intermediate_size");
  model.Set("expert_shared_count", config.UintOr("n_shared_experts", 0), "n_shared_experts");
  model.Set("expert_weights_scale", config.FloatOr("routed_scaling_factor", 1.0),
            "routed_scaling_factor");
}

void MapGroups(ConfigFields& config, ModelBuilder& model) {
  model.Set("expert_group_count", config.UintOr("n_group", 1), "n_group");
  model.Set("expert_group_used_count", config.UintOr("topk_group", 1), "topk_group");
}

void Configure(ConfigFields& config, ModelBuilder& model) {
  RequireSilu(config);
  config.RequireFalse("attention_bias");
  MapLatentAttention(config, model);
  MapLatentExperts(config, model);
}

void ConfigureV2(ConfigFields& config, ModelBuilder& model) {
  Configure(config, model);
  config.RequireWord("scoring_func", "softmax", {"softmax"});
  config.RequireFalse("norm_topk_prob");
  config.RequireWord("topk_method", "greedy", {"greedy", "group_limited_greedy"});
  model.Set("expert_gating_func", kSoftmax, "scoring_func");
  if (config.StringOr("topk_method", "") == "group_limited_greedy") MapGroups(config, model);
}

void ConfigureV3(ConfigFields& config, ModelBuilder& model) {
  Configure(config, model);
  config.RequireWord("scoring_func", "sigmoid", {"sigmoid"});
  config.RequireWord("topk_method", "noaux_tc", {"noaux_tc"});
  if (!config.BoolOr("rope_interleave", true))
    config.Refuse("rope_interleave", "is false; supported is only true");
  model.Set("expert_gating_func", kSigmoid, "scoring_func");
  model.Set("expert_weights_norm", config.BoolOr("norm_topk_prob", true), "norm_topk_prob");
  MapGroups(config, model);
}

}  // namespace

const ModelFamily kDeepSeekV2Family = {.model_type = "deepseek_v2",
                                       .architecture = "deepseek2",
                                       .rules = kRules,
                                       .configure = ConfigureV2};
const ModelFamily kDeepSeekV3Family = {.model_type = "deepseek_v3",
                                       .architecture = "deepseek2",
                                       .rules = kRules,
                                       .configure = ConfigureV3};

}  // namespace folio
