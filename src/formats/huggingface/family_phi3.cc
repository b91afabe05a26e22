// Phi-3, Phi-3.5, Phi-4, Phi-4-mini.
#include <array>

#include "formats/huggingface/families.h"
#include "formats/huggingface/rope.h"
#include "formats/huggingface/shared_rules.h"

namespace folio {
namespace {

// Both sources hold queries, keys and values in one matrix, and gate and up in another.
constexpr std::array kFusedRules = {
    TensorRule{"self_attn.qkv_proj.weight", "attn_qkv.weight"},
    TensorRule{"self_attn.o_proj.weight", "attn_output.weight"},
    TensorRule{"mlp.gate_up_proj.weight", "ffn_up.weight"},
    TensorRule{"mlp.down_proj.weight", "ffn_down.weight"},
};
constexpr std::array<std::span<const TensorRule>, 2> kRules = {kFusedRules, kNormRules};

void Configure(ConfigFields& config, ModelBuilder& model) {
  RequireSilu(config);
  config.RequireFalse("attention_bias");
  MapRope(config, MapDecoder(config, model), {}, model);
  model.Set("attention.sliding_window", config.UintOr("sliding_window", 0), "sliding_window");
}

}  // namespace

const ModelFamily kPhi3Family = {
    .model_type = "phi3", .architecture = "phi3", .rules = kRules, .configure = Configure};

}  // namespace folio
