// Names of tensors that many families share.
#ifndef FOLIO_FORMATS_HUGGINGFACE_SHARED_RULES_H_
#define FOLIO_FORMATS_HUGGINGFACE_SHARED_RULES_H_

#include <array>

#include "formats/huggingface/tensor_rules.h"

namespace folio {

inline constexpr std::array kAttentionRules = {
    TensorRule{"self_attn.q_proj.weight", "attn_q.weight"},
    TensorRule{"self_attn.k_proj.weight", "attn_k.weight"},
    TensorRule{"self_attn.v_proj.weight", "attn_v.weight"},
    TensorRule{"self_attn.o_proj.weight", "attn_output.weight"},
};
inline constexpr std::array kAttentionBiasRules = {
    TensorRule{"self_attn.q_proj.bias", "attn_q.bias"},
    TensorRule{"self_attn.k_proj.bias", "attn_k.bias"},
    TensorRule{"self_attn.v_proj.bias", "attn_v.bias"},
};
inline constexpr std::array kAttentionNormRules = {
    TensorRule{"self_attn.q_norm.weight", "attn_q_norm.weight"},
    TensorRule{"self_attn.k_norm.weight", "attn_k_norm.weight"},
};
// A norm before each branch.
inline constexpr std::array kNormRules = {
    TensorRule{"input_layernorm.weight", "attn_norm.weight"},
    TensorRule{"post_attention_layernorm.weight", "ffn_norm.weight"},
};
// A gated feed-forward network.
inline constexpr std::array kFeedForwardRules = {
    TensorRule{"mlp.gate_proj.weight", "ffn_gate.weight"},
    TensorRule{"mlp.up_proj.weight", "ffn_up.weight"},
    TensorRule{"mlp.down_proj.weight", "ffn_down.weight"},
};
// Experts, each in tensors of its own or all together.
inline constexpr std::array kExpertRules = {
    TensorRule{"mlp.experts.{}.gate_proj.weight", "ffn_gate.{}.weight"},
    TensorRule{"mlp.experts.{}.up_proj.weight", "ffn_up.{}.weight"},
    TensorRule{"mlp.experts.{}.down_proj.weight", "ffn_down.{}.weight"},
    TensorRule{"mlp.experts.gate_up_proj", "ffn_gate.{}.weight", TensorForm::kTwoOfEachExpert,
               "ffn_up.{}.weight"},
    TensorRule{"mlp.experts.down_proj", "ffn_down_exps.weight"},
};
inline constexpr std::array kRouterRules = {TensorRule{"mlp.gate.weight", "ffn_gate_inp.weight"}};

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_SHARED_RULES_H_
