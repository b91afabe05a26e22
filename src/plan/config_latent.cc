// Families with multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1): of all
// heads' keys and values a layer stores one vector a token, kv_lora_rank elements and the
// qk_rope_head_dim of the key that carries positions (0: none does).
#include <array>

#include "plan/config_families.h"

namespace folio {
namespace {

std::uint64_t U(std::int64_t value) { return static_cast<std::uint64_t>(value); }

struct Latent {
  std::int64_t heads = 0;
  std::int64_t rank = 0;
  std::int64_t query_rank = 0;  // 0: queries come from one matrix
  std::int64_t plain = 0;
  std::int64_t rotary = 0;
  std::int64_t value = 0;
};

Latent ReadLatent(ShapeFields& fields) {
  Latent latent;
  latent.heads = fields.Size("num_attention_heads");
  latent.rank = fields.Size("kv_lora_rank");
  latent.query_rank = fields.CountOr("q_lora_rank", 0);
  latent.plain = fields.Size("qk_nope_head_dim");
  // 0 is a model without it; a file that does not say would be a guess.
  latent.rotary = fields.CountOr("qk_rope_head_dim", 0);
  if (!fields.Has("qk_rope_head_dim")) fields.Refuse("qk_rope_head_dim", "is missing");
  latent.value = fields.Size("v_head_dim");
  CheckWidth(fields, "num_attention_heads",
             latent.heads * (latent.plain + latent.rotary + latent.value));
  return latent;
}

std::uint64_t LatentParameters(const ModelShape& shape, const Latent& latent) {
  const std::uint64_t hidden = U(shape.hidden);
  const std::uint64_t queries = U(latent.heads * (latent.plain + latent.rotary));
  std::uint64_t parameters = latent.query_rank == 0
                                 ? hidden * queries
                                 : U(latent.query_rank) * (hidden + queries) + U(latent.query_rank);
  parameters += hidden * U(latent.rank + latent.rotary) + U(latent.rank);
  parameters += U(latent.rank) * U(latent.heads * (latent.plain + latent.value));
  return parameters + U(latent.heads * latent.value) * hidden;
}

void ReadLatentLayers(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const Latent latent = ReadLatent(fields);
  shape.query_heads = static_cast<int>(latent.heads);
  shape.latent = {.rank = latent.rank,
                  .query_rank = latent.query_rank,
                  .plain = latent.plain,
                  .rotary = latent.rotary,
                  .value = latent.value};
  for (LayerShape& layer : shape.layers) {
    layer.query_heads = shape.query_heads;
    layer.kv = {.kv_heads = 1,
                .head_dim = static_cast<int>(latent.rank + latent.rotary),
                .latent_dim = static_cast<int>(latent.rank)};
    layer.mixer_parameters = LatentParameters(shape, latent);
  }
}

void ReadDeepSeekExperts(ShapeFields& fields, bool choice_bias, ModelShape& shape) {
  const DecoderTraits traits;
  const std::vector<bool> has = LayersBehind(fields.CountOr("first_k_dense_replace", 0),
                                             fields.SizeOr("moe_layer_freq", 1), shape);
  shape.ffn = fields.Size("intermediate_size");
  ReadDenseNetworks(fields, traits, has, shape);
  ReadExperts(fields,
              {.count = "n_routed_experts",
               .ffn = "moe_intermediate_size",
               .shared_count = "n_shared_experts",
               .choice_bias = choice_bias},
              traits, has, shape);
  FinishParameters(fields, traits, shape);
}

void DeepSeekV2(ShapeFields& fields, ModelShape& shape) {
  ReadLatentLayers(fields, shape);
  ReadDeepSeekExperts(fields, false, shape);
}

void DeepSeekV3(ShapeFields& fields, ModelShape& shape) {
  ReadLatentLayers(fields, shape);
  ReadDeepSeekExperts(fields, true, shape);
}

// DeepSeek-AI 2025, "DeepSeek-V3.2-Exp": a small key more for each token, by which the positions to
// attend to are chosen.
void DeepSeekV32(ShapeFields& fields, ModelShape& shape) {
  ReadLatentLayers(fields, shape);
  const std::int64_t index = fields.Size("index_head_dim");
  const std::int64_t heads = fields.Size("index_n_heads");
  const std::int64_t query_rank = fields.Size("q_lora_rank");
  for (LayerShape& layer : shape.layers) {
    layer.index_dim = index;
    layer.kv.head_dim += static_cast<int>(index);
    layer.mixer_parameters +=
        U(query_rank) * U(heads * index) + U(shape.hidden) * U(index + heads) + 2 * U(index);
  }
  ReadDeepSeekExperts(fields, true, shape);
  fields.Note("its index keys are counted in the KV type; engines store them in 8 bits");
}

void MiniCpm3(ShapeFields& fields, ModelShape& shape) {
  ReadLatentLayers(fields, shape);
  shape.ffn = fields.Size("intermediate_size");
  for (LayerShape& layer : shape.layers)
    layer.ffn_parameters = FfnParameters(shape.hidden, shape.ffn, {});
  FinishParameters(fields, {.tied = true}, shape);
}

constexpr std::array kFamilies = {
    ConfigFamily{"deepseek_v2", DeepSeekV2},   ConfigFamily{"deepseek_v3", DeepSeekV3},
    ConfigFamily{"deepseek_v32", DeepSeekV32}, ConfigFamily{"glm_moe_dsa", DeepSeekV32},
    ConfigFamily{"kimi_k2", DeepSeekV3},       ConfigFamily{"minicpm3", MiniCpm3},
};

}  // namespace

std::span<const ConfigFamily> LatentFamilies() { return kFamilies; }

}  // namespace folio
