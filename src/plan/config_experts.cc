// Families with a Mixture of Experts and the same attention in every layer.
#include <algorithm>
#include <array>

#include "plan/config_families.h"

namespace folio {
namespace {

// Attention of every layer; the networks come after.
void ReadAttention(ShapeFields& fields, const DecoderTraits& traits, std::int64_t window,
                   ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  shape.query_heads = static_cast<int>(heads.query_heads);
  for (LayerShape& layer : shape.layers) SetAttention(shape, heads, traits, window, layer);
}

void SetDense(ShapeFields& fields, const DecoderTraits& traits, const std::vector<bool>& experts,
              ModelShape& shape) {
  if (std::ranges::all_of(experts, [](bool has) { return has; })) return;
  shape.ffn = fields.Size("intermediate_size");
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    if (!experts[i])
      shape.layers[i].ffn_parameters = FfnParameters(shape.hidden, shape.ffn, traits);
  }
}

std::vector<bool> All(const ModelShape& shape) {
  return std::vector<bool>(shape.layers.size(), true);
}

// No published model of these has windows; which layers would see them is not known.
void RefuseWindows(ShapeFields& fields) {
  if (fields.FlagOr("use_sliding_window", false))
    fields.Refuse("use_sliding_window", "is true; windows of this family are not known");
}

// Qwen's: every decoder_sparse_step-th layer, without those of mlp_only_layers.
std::vector<bool> QwenLayers(ShapeFields& fields, const ModelShape& shape) {
  std::vector<bool> has = All(shape);
  const std::int64_t step = fields.SizeOr("decoder_sparse_step", 1);
  for (std::size_t i = 0; i < has.size(); ++i)
    has[i] = (static_cast<std::int64_t>(i) + 1) % step == 0;
  if (!fields.Has("mlp_only_layers")) return has;
  for (const std::int64_t layer : fields.Numbers("mlp_only_layers", 0)) {
    if (layer < static_cast<std::int64_t>(has.size())) has[static_cast<std::size_t>(layer)] = false;
  }
  return has;
}

// Jiang et al. 2024, "Mixtral of Experts": 8 experts as wide as a dense network, 2 for a token.
void Mixtral(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits;
  ReadAttention(fields, traits, fields.TokensOr("sliding_window", 0), shape);
  SetExperts(fields,
             {.experts = fields.Size("num_local_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("intermediate_size")},
             traits, "num_local_experts", "num_experts_per_tok", All(shape), shape);
  FinishParameters(fields, traits, shape);
}

void PhiMoe(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.qkv_bias = true, .out_bias = true, .layer_norm = true};
  ReadAttention(fields, traits, 0, shape);
  SetExperts(fields,
             {.experts = fields.Size("num_local_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("intermediate_size")},
             traits, "num_local_experts", "num_experts_per_tok", All(shape), shape);
  FinishParameters(fields, traits, shape);
}

void Qwen3Moe(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.head_norms = 2};
  RefuseWindows(fields);
  ReadAttention(fields, traits, 0, shape);
  const std::vector<bool> layers = QwenLayers(fields, shape);
  SetDense(fields, traits, layers, shape);
  SetExperts(fields,
             {.experts = fields.Size(fields.AnyOf({"num_experts", "num_local_experts"})),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("moe_intermediate_size")},
             traits, "num_experts", "num_experts_per_tok", layers, shape);
  FinishParameters(fields, traits, shape);
}

void Qwen2Moe(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.qkv_bias = true};
  RefuseWindows(fields);
  ReadAttention(fields, traits, 0, shape);
  const std::vector<bool> layers = QwenLayers(fields, shape);
  SetDense(fields, traits, layers, shape);
  SetExperts(fields,
             {.experts = fields.Size("num_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("moe_intermediate_size"),
              .shared_ffn = fields.Size("shared_expert_intermediate_size"),
              .shared_gate = true},
             traits, "num_experts", "num_experts_per_tok", layers, shape);
  FinishParameters(fields, traits, shape);
}

// Muennighoff et al. 2024, "OLMoE".
void Olmoe(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.whole_norms = true};
  ReadAttention(fields, traits, 0, shape);
  SetExperts(fields,
             {.experts = fields.Size("num_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("intermediate_size")},
             traits, "num_experts", "num_experts_per_tok", All(shape), shape);
  FinishParameters(fields, traits, shape);
}

void GraniteMoe(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.tied = true};
  ReadAttention(fields, traits, 0, shape);
  SetExperts(fields,
             {.experts = fields.Size("num_local_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("intermediate_size"),
              .shared_ffn = fields.CountOr("shared_intermediate_size", 0)},
             traits, "num_local_experts", "num_experts_per_tok", All(shape), shape);
  FinishParameters(fields, traits, shape);
}

// Zhipu 2025, "GLM-4.5": DeepSeek's experts behind grouped-query attention, heads of 128 although
// hidden / heads is less.
void Glm4Moe(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.qkv_bias = fields.FlagOr("attention_bias", true),
                                .head_norms = fields.FlagOr("use_qk_norm", false) ? 2 : 0};
  ReadAttention(fields, traits, 0, shape);
  std::vector<bool> layers = All(shape);
  const auto dense = static_cast<std::size_t>(fields.CountOr("first_k_dense_replace", 0));
  for (std::size_t i = 0; i < std::min(dense, layers.size()); ++i) layers[i] = false;
  SetDense(fields, traits, layers, shape);
  const std::int64_t ffn = fields.Size("moe_intermediate_size");
  SetExperts(fields,
             {.experts = fields.Size("n_routed_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = ffn,
              .shared_ffn = fields.CountOr("n_shared_experts", 0) * ffn,
              .choice_bias = true},
             traits, "n_routed_experts", "num_experts_per_tok", layers, shape);
  FinishParameters(fields, traits, shape);
}

void MiniMaxM2(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.whole_norms = true};
  ReadAttention(fields, traits, 0, shape);
  SetExperts(fields,
             {.experts = fields.Size("num_local_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("intermediate_size"),
              .choice_bias = true},
             traits, "num_local_experts", "num_experts_per_tok", All(shape), shape);
  FinishParameters(fields, traits, shape);
}

constexpr std::array kFamilies = {
    ConfigFamily{"glm4_moe", Glm4Moe},
    ConfigFamily{"granitemoe", GraniteMoe},
    ConfigFamily{"granitemoeshared", GraniteMoe},
    ConfigFamily{"minimax_m2", MiniMaxM2},
    ConfigFamily{"mixtral", Mixtral},
    ConfigFamily{"olmoe", Olmoe},
    ConfigFamily{"phimoe", PhiMoe},
    ConfigFamily{"qwen2_moe", Qwen2Moe},
    ConfigFamily{"qwen3_moe", Qwen3Moe},
};

}  // namespace

std::span<const ConfigFamily> ExpertFamilies() { return kFamilies; }

}  // namespace folio
