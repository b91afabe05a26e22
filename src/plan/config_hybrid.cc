// Families some of whose layers keep a state of constant size in the place of keys and values: the
// last inputs of a short convolution, or the matrices of a delta rule.
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

// Liquid AI 2025, LFM2: layers of a gated short convolution, whose state is the last inputs but
// one.
std::vector<bool> ReadLfm2Layers(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
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
  const std::vector<bool> has = LayersBehind(fields.CountOr("num_dense_layers", 0), 1, shape);
  shape.ffn = fields.Size("intermediate_size");
  ReadDenseNetworks(fields, traits, has, shape);
  ReadExperts(fields,
              {.count = "num_experts",
               .ffn = "moe_intermediate_size",
               .choice_bias = fields.FlagOr("use_expert_bias", true)},
              traits, has, shape);
  FinishParameters(fields, traits, shape);
}

// Qwen Team 2025, Qwen3-Next: three layers of gated delta rule (Yang et al. 2024) to one of gated
// attention. The state is a matrix [key, value] for each value head, and a convolution's inputs.
void ReadDeltaLayers(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
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
  ReadExperts(fields,
              {.count = "num_experts",
               .ffn = "moe_intermediate_size",
               .shared_ffn = "shared_expert_intermediate_size",
               .shared_gate = true},
              traits, AllLayers(shape), shape);
  FinishParameters(fields, traits, shape);
}

void Qwen35(ShapeFields& fields, ModelShape& shape) {
  ReadDeltaLayers(fields, shape);
  shape.ffn = fields.Size("intermediate_size");
  for (LayerShape& layer : shape.layers)
    layer.ffn_parameters = FfnParameters(shape.hidden, shape.ffn, {});
  FinishParameters(fields, {}, shape);
}

constexpr std::array kFamilies = {
    ConfigFamily{"lfm2", Lfm2},
    ConfigFamily{"lfm2_moe", Lfm2Moe},
    ConfigFamily{"qwen3_5_moe_text", Qwen3Next},
    ConfigFamily{"qwen3_5_text", Qwen35},
    ConfigFamily{"qwen3_next", Qwen3Next},
};

}  // namespace

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

std::span<const ConfigFamily> HybridFamilies() { return kFamilies; }

}  // namespace folio
