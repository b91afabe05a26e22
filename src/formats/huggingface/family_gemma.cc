// Gemma 2, and Gemma 3 without images.
#include <array>
#include <string>

#include "formats/huggingface/families.h"
#include "formats/huggingface/rope.h"
#include "formats/huggingface/shared_rules.h"

namespace folio {
namespace {

// One of so many layers sees everything, the last of them; the others see a window.
constexpr std::uint64_t kGemma2Pattern = 2;
constexpr std::uint64_t kGemma3Pattern = 6;
// Layers of the 27B models, whose queries alone are scaled by hidden / heads.
constexpr std::uint64_t kGemma2LayersOf27B = 46;
constexpr std::uint64_t kGemma3LayersOf27B = 62;
constexpr double kGlobalBase = 1000000.0;
constexpr double kLocalBase = 10000.0;

constexpr std::array kGemmaNormRules = {
    TensorRule{"input_layernorm.weight", "attn_norm.weight", TensorForm::kOneMore},
    TensorRule{"post_attention_layernorm.weight", "post_attention_norm.weight",
               TensorForm::kOneMore},
    TensorRule{"pre_feedforward_layernorm.weight", "ffn_norm.weight", TensorForm::kOneMore},
    TensorRule{"post_feedforward_layernorm.weight", "post_ffw_norm.weight", TensorForm::kOneMore},
};
constexpr std::array kHeadNormRules = {
    TensorRule{"self_attn.q_norm.weight", "attn_q_norm.weight", TensorForm::kOneMore},
    TensorRule{"self_attn.k_norm.weight", "attn_k_norm.weight", TensorForm::kOneMore},
};
constexpr std::array<std::span<const TensorRule>, 3> kGemma2Rules = {
    kAttentionRules, kGemmaNormRules, kFeedForwardRules};
constexpr std::array<std::span<const TensorRule>, 4> kGemma3Rules = {
    kAttentionRules, kGemmaNormRules, kHeadNormRules, kFeedForwardRules};

// Which layers see a window: older writers give the pattern's length, newer ones the list.
void RequirePattern(ConfigFields& config, std::uint64_t length) {
  if (const std::uint64_t pattern = config.UintOr("sliding_window_pattern", length);
      pattern != length) {
    config.Refuse("sliding_window_pattern", "is " + std::to_string(pattern) +
                                                "; supported is only " + std::to_string(length));
  }
  const Json* types = config.Find("layer_types");
  if (types == nullptr) return;
  std::uint64_t layer = 0;
  for (const Json& type : *types) {
    const bool global = ++layer % length == 0;
    const std::string_view needed = global ? "full_attention" : "sliding_attention";
    if (type == needed) continue;
    config.Refuse("layer_types", "has " + DescribeJson(type) + " for layer " +
                                     std::to_string(layer) + "; supported is only " +
                                     std::string(needed));
  }
}

void RequireQueryScale(ConfigFields& config, std::uint64_t head_dim, std::uint64_t layers_of_27b) {
  const std::uint64_t heads = config.Uint("num_attention_heads");
  if (heads == 0) return;  // refused before
  const bool is_27b = config.Uint("num_hidden_layers") == layers_of_27b;
  const std::uint64_t usual = is_27b ? config.Uint("hidden_size") / heads : head_dim;
  const double scalar = config.FloatOr("query_pre_attn_scalar", static_cast<double>(usual));
  if (scalar != static_cast<double>(usual)) {
    config.Refuse("query_pre_attn_scalar",
                  "is " + std::to_string(scalar) + "; supported is only " + std::to_string(usual));
  }
}

// What both have; gives the width of a head.
std::uint64_t MapGemma(ConfigFields& config, std::uint64_t pattern, std::uint64_t layers_of_27b,
                       ModelBuilder& model) {
  config.RequireWord("hidden_activation", "gelu_pytorch_tanh", {"gelu_pytorch_tanh"});
  config.RequireFalse("attention_bias");
  config.RequireFalse("use_bidirectional_attention");
  const std::uint64_t head_dim = MapDecoder(config, model);
  RequirePattern(config, pattern);
  RequireQueryScale(config, head_dim, layers_of_27b);
  model.Set("attention.sliding_window", config.Uint("sliding_window"), "sliding_window");
  return head_dim;
}

void ConfigureGemma2(ConfigFields& config, ModelBuilder& model) {
  MapRope(config, MapGemma(config, kGemma2Pattern, kGemma2LayersOf27B, model), {}, model);
  for (const std::string_view field : {"attn_logit_softcapping", "final_logit_softcapping"})
    model.Set(field, config.Float(field), field);
}

// The global layers' embedding, and the base of the local ones, which are never stretched.
void MapBothRopes(ConfigFields& config, std::uint64_t head_dim, ModelBuilder& model) {
  if (ConfigFields both = config.Object("rope_parameters"); both.Has("full_attention")) {
    ConfigFields global = both.Object("full_attention");
    MapRopeObject(config, global, kGlobalBase, head_dim, {}, model);
    ConfigFields local = both.Object("sliding_attention");
    local.RequireWord("rope_type", "default", {"default"});
    model.Set("rope.freq_base_swa", local.FloatOr("rope_theta", kLocalBase), "rope_theta");
    config.Take(local);
    return;
  }
  MapRope(config, head_dim, {.base = kGlobalBase}, model);
  model.Set("rope.freq_base_swa", config.FloatOr("rope_local_base_freq", kLocalBase),
            "rope_local_base_freq");
}

void ConfigureGemma3(ConfigFields& config, ModelBuilder& model) {
  config.RequireAbsent("attn_logit_softcapping");
  config.RequireAbsent("final_logit_softcapping");
  MapBothRopes(config, MapGemma(config, kGemma3Pattern, kGemma3LayersOf27B, model), model);
}

}  // namespace

const ModelFamily kGemma2Family = {.model_type = "gemma2",
                                   .architecture = "gemma2",
                                   .rules = kGemma2Rules,
                                   .configure = ConfigureGemma2,
                                   .norms_add_one = true};
const ModelFamily kGemma3Family = {.model_type = "gemma3_text",
                                   .architecture = "gemma3",
                                   .rules = kGemma3Rules,
                                   .configure = ConfigureGemma3,
                                   .norms_add_one = true};

}  // namespace folio
