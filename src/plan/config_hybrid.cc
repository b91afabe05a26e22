// Families whose layers keep a state of constant size in the place of keys and values, in some
// layers or beside them.
#include <algorithm>
#include <array>
#include <string>

#include "plan/config_families.h"

namespace folio {
namespace {

std::uint64_t U(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::int64_t Count(const ModelShape& shape) {
  return static_cast<std::int64_t>(shape.layers.size());
}

// Which layers have attention: those whose word in layer_types is one of `words`.
std::vector<bool> AttentionLayers(ShapeFields& fields, const ModelShape& shape,
                                  std::string_view attention, std::string_view other) {
  std::vector<bool> has(shape.layers.size());
  const std::vector<std::string> types = fields.Words("layer_types", Count(shape));
  for (std::size_t i = 0; i < std::min(types.size(), has.size()); ++i) {
    has[i] = types[i] == attention;
    if (!has[i] && types[i] != other) {
      fields.Refuse("layer_types", "has '" + types[i] + "'; known here are " +
                                       std::string(attention) + ", " + std::string(other));
    }
  }
  return has;
}

// Liquid AI 2025, LFM2: layers of a gated short convolution, whose state is the last inputs but
// one.
std::vector<bool> ReadLfm2Layers(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  shape.query_heads = static_cast<int>(heads.query_heads);
  std::vector<bool> attention(shape.layers.size());
  if (fields.Has("layer_types")) {
    attention = AttentionLayers(fields, shape, "full_attention", "conv");
  } else {
    for (const std::int64_t layer : fields.Numbers("full_attn_idxs", 0)) {
      if (layer < Count(shape)) attention[static_cast<std::size_t>(layer)] = true;
    }
  }
  const std::int64_t length = fields.Size("conv_L_cache");
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    if (attention[i]) {
      SetAttention(shape, heads, {.head_norms = 2}, 0, layer);
      continue;
    }
    layer.convolution_elements = (length - 1) * shape.hidden;
    layer.mixer_parameters = U(4 * shape.hidden) * U(shape.hidden) + U(shape.hidden * length);
  }
  return attention;
}

void Lfm2(ShapeFields& fields, ModelShape& shape) {
  ReadLfm2Layers(fields, shape);
  // The class makes two thirds of block_ff_dim, rounded up to block_multiple_of.
  std::int64_t ffn = fields.Size(fields.AnyOf({"block_ff_dim", "intermediate_size"}));
  if (fields.FlagOr("block_auto_adjust_ff_dim", true)) {
    const std::int64_t step = fields.SizeOr("block_multiple_of", 256);
    ffn = (2 * ffn / 3 + step - 1) / step * step;
  }
  shape.ffn = ffn;
  for (LayerShape& layer : shape.layers)
    layer.ffn_parameters = FfnParameters(shape.hidden, ffn, {});
  FinishParameters(fields, {.tied = fields.FlagOr("tie_embedding", true)}, shape);
}

void Lfm2Moe(ShapeFields& fields, ModelShape& shape) {
  ReadLfm2Layers(fields, shape);
  const DecoderTraits traits = {.tied = true};
  std::vector<bool> has(shape.layers.size(), true);
  const auto dense = static_cast<std::size_t>(fields.CountOr("num_dense_layers", 0));
  shape.ffn = fields.Size("intermediate_size");
  for (std::size_t i = 0; i < std::min(dense, has.size()); ++i) {
    has[i] = false;
    shape.layers[i].ffn_parameters = FfnParameters(shape.hidden, shape.ffn, traits);
  }
  SetExperts(fields,
             {.experts = fields.Size("num_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("moe_intermediate_size"),
              .choice_bias = fields.FlagOr("use_expert_bias", true)},
             traits, "num_experts", "num_experts_per_tok", has, shape);
  FinishParameters(fields, traits, shape);
}

// Qwen Team 2025, Qwen3-Next: three layers of gated delta rule (Yang et al. 2024) to one of gated
// attention. The state is a matrix [key, value] for each value head, and a convolution's inputs.
void ReadDeltaLayers(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  shape.query_heads = static_cast<int>(heads.query_heads);
  std::vector<bool> attention(shape.layers.size());
  if (fields.Has("layer_types")) {
    attention = AttentionLayers(fields, shape, "full_attention", "linear_attention");
  } else {
    const std::int64_t every = fields.Size("full_attention_interval");
    for (std::int64_t i = 0; i < Count(shape); ++i)
      attention[static_cast<std::size_t>(i)] = (i + 1) % every == 0;
  }
  const std::int64_t key_heads = fields.Size("linear_num_key_heads");
  const std::int64_t value_heads = fields.Size("linear_num_value_heads");
  const std::int64_t key_dim = fields.Size("linear_key_head_dim");
  const std::int64_t value_dim = fields.Size("linear_value_head_dim");
  const std::int64_t kernel = fields.Size("linear_conv_kernel_dim");
  if (!fields.status()) return;
  const std::int64_t keys = key_heads * key_dim;
  const std::int64_t values = value_heads * value_dim;
  const std::int64_t channels = 2 * keys + values;
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    if (attention[i]) {
      SetAttention(shape, heads, {.head_norms = 2, .query_gate = true}, 0, layer);
      continue;
    }
    layer.recurrent_elements = value_heads * key_dim * value_dim;
    layer.convolution_elements = (kernel - 1) * channels;
    layer.mixer_parameters = U(shape.hidden) * U(channels + values + 2 * value_heads) +
                             U(channels * kernel) + U(2 * value_heads + value_dim) +
                             U(values) * U(shape.hidden);
  }
}

void Qwen3Next(ShapeFields& fields, ModelShape& shape) {
  ReadDeltaLayers(fields, shape);
  const DecoderTraits traits;
  SetExperts(fields,
             {.experts = fields.Size("num_experts"),
              .top_k = fields.Size("num_experts_per_tok"),
              .ffn = fields.Size("moe_intermediate_size"),
              .shared_ffn = fields.Size("shared_expert_intermediate_size"),
              .shared_gate = true},
             traits, "num_experts", "num_experts_per_tok",
             std::vector<bool>(shape.layers.size(), true), shape);
  FinishParameters(fields, traits, shape);
}

void Qwen35(ShapeFields& fields, ModelShape& shape) {
  ReadDeltaLayers(fields, shape);
  shape.ffn = fields.Size("intermediate_size");
  for (LayerShape& layer : shape.layers)
    layer.ffn_parameters = FfnParameters(shape.hidden, shape.ffn, {});
  FinishParameters(fields, {}, shape);
}

// AI21 2024, "Jamba": Mamba layers (Gu and Dao 2023), one in eight with attention, experts in every
// second.
void Jamba(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  shape.query_heads = static_cast<int>(heads.query_heads);
  const std::int64_t period = fields.Size("attn_layer_period");
  const std::int64_t offset = fields.CountOr("attn_layer_offset", 0);
  const std::int64_t expert_period = fields.SizeOr("expert_layer_period", 1);
  const std::int64_t expert_offset = fields.CountOr("expert_layer_offset", 0);
  const std::int64_t state = fields.Size("mamba_d_state");
  const std::int64_t kernel = fields.Size("mamba_d_conv");
  const std::int64_t inner = fields.Size("mamba_expand") * shape.hidden;
  const std::int64_t step_rank = fields.SizeOr("mamba_dt_rank", (shape.hidden + 15) / 16);
  shape.ffn = fields.Size("intermediate_size");
  const std::int64_t experts = fields.SizeOr("num_experts", 1);
  std::vector<bool> has(shape.layers.size());
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    const auto number = static_cast<std::int64_t>(i);
    has[i] = experts > 1 && number % expert_period == expert_offset;
    if (!has[i]) layer.ffn_parameters = FfnParameters(shape.hidden, shape.ffn, {});
    if (number % period == offset) {
      SetAttention(shape, heads, {}, 0, layer);
      continue;
    }
    layer.recurrent_elements = inner * state;
    layer.convolution_elements = (kernel - 1) * inner;
    layer.mixer_parameters = U(3 * shape.hidden) * U(inner) + U(inner * (kernel + 1)) +
                             U(inner) * U(step_rank + 2 * state) + U(step_rank + 2 * state) +
                             U(step_rank + 1) * U(inner) + U(inner) * U(state + 1);
  }
  if (experts > 1) {
    SetExperts(fields,
               {.experts = experts, .top_k = fields.Size("num_experts_per_tok"), .ffn = shape.ffn},
               {}, "num_experts", "num_experts_per_tok", has, shape);
  }
  FinishParameters(fields, {}, shape);
}

// Dao and Gu 2024, "Mamba-2": `heads` states of [head, state] numbers, and a convolution's inputs.
struct Mamba2 {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t state = 0;
  std::int64_t groups = 0;
  std::int64_t kernel = 0;
};

void SetMamba2(const ModelShape& shape, const Mamba2& mamba, LayerShape& layer) {
  const std::int64_t inner = mamba.heads * mamba.head_dim;
  const std::int64_t channels = inner + 2 * mamba.groups * mamba.state;
  layer.recurrent_elements = inner * mamba.state;
  layer.convolution_elements = (mamba.kernel - 1) * channels;
  layer.mixer_parameters += U(shape.hidden) * U(inner + channels + mamba.heads) +
                            U(channels * (mamba.kernel + 1)) + U(3 * mamba.heads + inner) +
                            U(inner) * U(shape.hidden);
}

Mamba2 ReadMamba2(ShapeFields& fields) {
  return {.heads = fields.Size("mamba_n_heads"),
          .head_dim = fields.Size("mamba_d_head"),
          .state = fields.Size("mamba_d_state"),
          .groups = fields.SizeOr("mamba_n_groups", 1),
          .kernel = fields.Size("mamba_d_conv")};
}

// IBM 2025, Granite 4: nine Mamba-2 layers to one of attention.
void GraniteHybrid(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  shape.query_heads = static_cast<int>(heads.query_heads);
  const std::vector<bool> attention = AttentionLayers(fields, shape, "attention", "mamba");
  const Mamba2 mamba = ReadMamba2(fields);
  const std::int64_t shared = fields.Size("shared_intermediate_size");
  const std::int64_t experts = fields.CountOr("num_local_experts", 0);
  const DecoderTraits traits = {.tied = true};
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    if (attention[i]) {
      SetAttention(shape, heads, traits, 0, layer);
    } else {
      SetMamba2(shape, mamba, layer);
    }
    layer.ffn_parameters = FfnParameters(shape.hidden, shared, traits);
  }
  shape.ffn = shared;
  if (experts > 0) {
    SetExperts(fields,
               {.experts = experts,
                .top_k = fields.Size("num_experts_per_tok"),
                .ffn = fields.Size("intermediate_size"),
                .shared_ffn = shared},
               traits, "num_local_experts", "num_experts_per_tok",
               std::vector<bool>(shape.layers.size(), true), shape);
  }
  FinishParameters(fields, traits, shape);
}

// TII 2025, Falcon-H1: attention and Mamba-2 side by side in every layer.
void FalconH1(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {}, 0, shape);
  const Mamba2 mamba = ReadMamba2(fields);
  for (LayerShape& layer : shape.layers) SetMamba2(shape, mamba, layer);
  shape.parameters.reset();
  fields.Note(
      "parameters of this family are not counted; give the weights' size (--weights-bytes)");
}

// NVIDIA 2025, "Nemotron-H": hybrid_override_pattern has M for Mamba-2, * for attention, - for a
// network alone.
void NemotronH(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  shape.query_heads = static_cast<int>(heads.query_heads);
  const std::string pattern = fields.WordOr("hybrid_override_pattern", "");
  if (pattern.empty()) fields.Refuse("hybrid_override_pattern", "is missing");
  if (static_cast<std::int64_t>(pattern.size()) != Count(shape)) {
    fields.Refuse("hybrid_override_pattern", "has " + std::to_string(pattern.size()) +
                                                 " letters for " + std::to_string(Count(shape)) +
                                                 " layers");
  }
  const Mamba2 mamba = {.heads = fields.Size("mamba_num_heads"),
                        .head_dim = fields.Size("mamba_head_dim"),
                        .state = fields.Size("ssm_state_size"),
                        .groups = fields.SizeOr("n_groups", 1),
                        .kernel = fields.Size("conv_kernel")};
  shape.ffn = fields.Size("intermediate_size");
  const DecoderTraits traits = {.gated = false, .norms = 1};
  if (!fields.status()) return;
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    if (pattern[i] == '*') {
      SetAttention(shape, heads, traits, 0, layer);
    } else if (pattern[i] == 'M') {
      SetMamba2(shape, mamba, layer);
    } else if (pattern[i] == '-') {
      layer.ffn_parameters = FfnParameters(shape.hidden, shape.ffn, traits);
    } else {
      fields.Refuse("hybrid_override_pattern",
                    std::string("has '") + pattern[i] + "'; known are M, * and -");
    }
  }
  FinishParameters(fields, traits, shape);
}

constexpr std::array kFamilies = {
    ConfigFamily{"falcon_h1", FalconH1},
    ConfigFamily{"granitemoehybrid", GraniteHybrid},
    ConfigFamily{"jamba", Jamba},
    ConfigFamily{"lfm2", Lfm2},
    ConfigFamily{"lfm2_moe", Lfm2Moe},
    ConfigFamily{"nemotron_h", NemotronH},
    ConfigFamily{"qwen3_5_moe_text", Qwen3Next},
    ConfigFamily{"qwen3_5_text", Qwen35},
    ConfigFamily{"qwen3_next", Qwen3Next},
};

}  // namespace

std::span<const ConfigFamily> HybridFamilies() { return kFamilies; }

}  // namespace folio
