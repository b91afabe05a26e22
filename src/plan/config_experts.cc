// Families with a Mixture of Experts and the same attention in every layer.
#include <array>

#include "plan/config_families.h"

namespace folio {
namespace {

using LayersWithExperts = std::vector<bool> (*)(ShapeFields& fields, const ModelShape& shape);

std::vector<bool> All(ShapeFields& /*fields*/, const ModelShape& shape) { return AllLayers(shape); }

// Qwen's: every decoder_sparse_step-th layer, without those of mlp_only_layers.
std::vector<bool> OfQwen(ShapeFields& fields, const ModelShape& shape) {
  std::vector<bool> has(shape.layers.size());
  const std::int64_t step = fields.SizeOr("decoder_sparse_step", 1);
  for (std::size_t i = 0; i < has.size(); ++i)
    has[i] = (static_cast<std::int64_t>(i) + 1) % step == 0;
  if (!fields.Has("mlp_only_layers")) return has;
  for (const std::int64_t layer : fields.Numbers("mlp_only_layers", 0)) {
    if (layer < static_cast<std::int64_t>(has.size())) has[static_cast<std::size_t>(layer)] = false;
  }
  return has;
}

// DeepSeek's: those behind the first.
std::vector<bool> OfDeepSeek(ShapeFields& fields, const ModelShape& shape) {
  return LayersBehind(fields.CountOr("first_k_dense_replace", 0), 1, shape);
}

void ReadMixture(ShapeFields& fields, const DecoderTraits& traits, std::int64_t window,
                 LayersWithExperts layers, const ExpertFields& experts, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  for (LayerShape& layer : shape.layers) SetAttention(shape, heads, traits, window, layer);
  const std::vector<bool> has = layers(fields, shape);
  ReadDenseNetworks(fields, traits, has, shape);
  ReadExperts(fields, experts, traits, has, shape);
  FinishParameters(fields, traits, shape);
}

// No published model of these has windows; which layers would see them is not known.
void RefuseWindows(ShapeFields& fields) {
  if (fields.FlagOr("use_sliding_window", false))
    fields.Refuse("use_sliding_window", "is true; windows of this family are not known");
}

// Jiang et al. 2024, "Mixtral of Experts": 8 experts as wide as a dense network, 2 for a token.
void Mixtral(ShapeFields& fields, ModelShape& shape) {
  ReadMixture(fields, {}, fields.TokensOr("sliding_window", 0), All, {.count = "num_local_experts"},
              shape);
}

void PhiMoe(ShapeFields& fields, ModelShape& shape) {
  ReadMixture(fields, {.qkv_bias = true, .out_bias = true, .layer_norm = true}, 0, All,
              {.count = "num_local_experts"}, shape);
}

void Qwen3Moe(ShapeFields& fields, ModelShape& shape) {
  RefuseWindows(fields);
  ReadMixture(
      fields, {.head_norms = 2}, 0, OfQwen,
      {.count = fields.AnyOf({"num_experts", "num_local_experts"}), .ffn = "moe_intermediate_size"},
      shape);
}

void Qwen2Moe(ShapeFields& fields, ModelShape& shape) {
  RefuseWindows(fields);
  ReadMixture(fields, {.qkv_bias = true}, 0, OfQwen,
              {.count = "num_experts",
               .ffn = "moe_intermediate_size",
               .shared_ffn = "shared_expert_intermediate_size",
               .shared_gate = true},
              shape);
}

// Muennighoff et al. 2024, "OLMoE".
void Olmoe(ShapeFields& fields, ModelShape& shape) {
  ReadMixture(fields, {.whole_norms = true}, 0, All, {.count = "num_experts"}, shape);
}

void GraniteMoe(ShapeFields& fields, ModelShape& shape) {
  constexpr std::string_view kShared = "shared_intermediate_size";
  const bool shared = fields.CountOr(kShared, 0) > 0;
  ReadMixture(fields, {.tied = true}, 0, All,
              {.count = "num_local_experts", .shared_ffn = shared ? kShared : ""}, shape);
}

// Zhipu 2025, "GLM-4.5": DeepSeek's experts behind grouped-query attention, heads of 128 although
// hidden / heads is less.
void Glm4Moe(ShapeFields& fields, ModelShape& shape) {
  ReadMixture(fields,
              {.qkv_bias = fields.FlagOr("attention_bias", true),
               .head_norms = fields.FlagOr("use_qk_norm", false) ? 2 : 0},
              0, OfDeepSeek,
              {.count = "n_routed_experts",
               .ffn = "moe_intermediate_size",
               .shared_count = "n_shared_experts",
               .choice_bias = true},
              shape);
}

void MiniMaxM2(ShapeFields& fields, ModelShape& shape) {
  ReadMixture(fields, {.whole_norms = true}, 0, All,
              {.count = "num_local_experts", .choice_bias = true}, shape);
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
