// Families with Mamba layers in the place of attention, or beside it.
#include <array>
#include <string>

#include "plan/config_families.h"

namespace folio {
namespace {

std::uint64_t U(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::int64_t Count(const ModelShape& shape) {
  return static_cast<std::int64_t>(shape.layers.size());
}

// AI21 2024, "Jamba": Mamba layers (Gu and Dao 2023), one in eight with attention, experts in every
// second.
void Jamba(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
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
  if (experts > 1) ReadExperts(fields, {.count = "num_experts"}, {}, has, shape);
  FinishParameters(fields, {}, shape);
}

// Dao and Gu 2024, "Mamba-2": `heads` states of [head, state] numbers, and a convolution's inputs.
struct Mamba2 {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t state = 0;
  std::int64_t groups = 0;
  std::int64_t kernel = 0;
  bool in_bias = false;
  bool out_bias = false;
  bool convolution_bias = true;
  bool norm = true;  // of all heads together, before the output
};

void SetMamba2(const ModelShape& shape, const Mamba2& mamba, LayerShape& layer) {
  const std::int64_t inner = mamba.heads * mamba.head_dim;
  const std::int64_t channels = inner + 2 * mamba.groups * mamba.state;
  layer.recurrent_elements = inner * mamba.state;
  layer.convolution_elements = (mamba.kernel - 1) * channels;
  const std::int64_t projected = inner + channels + mamba.heads;
  // The heads' steps, decays and skips are three numbers each.
  layer.mixer_parameters += U(shape.hidden) * U(projected) + U(channels * mamba.kernel) +
                            U(3 * mamba.heads) + U(inner) * U(shape.hidden);
  if (mamba.in_bias) layer.mixer_parameters += U(projected);
  if (mamba.out_bias) layer.mixer_parameters += U(shape.hidden);
  if (mamba.convolution_bias) layer.mixer_parameters += U(channels);
  if (mamba.norm) layer.mixer_parameters += U(inner);
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
    ReadExperts(fields, {.count = "num_local_experts", .shared_ffn = "shared_intermediate_size"},
                traits, AllLayers(shape), shape);
  }
  FinishParameters(fields, traits, shape);
}

// TII 2025, Falcon-H1: attention and Mamba-2 side by side behind one norm in every layer.
void FalconH1(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  shape.ffn = fields.Size("intermediate_size");
  Mamba2 mamba = ReadMamba2(fields);
  mamba.in_bias = fields.FlagOr("mamba_proj_bias", false);
  mamba.out_bias = fields.FlagOr("projectors_bias", false);
  mamba.convolution_bias = fields.FlagOr("mamba_conv_bias", true);
  mamba.norm = fields.FlagOr("mamba_rms_norm", false);
  const std::int64_t inner = fields.SizeOr("mamba_d_ssm", mamba.heads * mamba.head_dim);
  if (inner != mamba.heads * mamba.head_dim) {
    fields.Refuse("mamba_d_ssm", "is " + std::to_string(inner) + ", not the " +
                                     std::to_string(mamba.heads * mamba.head_dim) +
                                     " of its heads together");
  }
  const bool bias = fields.FlagOr("attention_bias", false);
  if (!fields.status()) return;
  for (LayerShape& layer : shape.layers) SetMamba2(shape, mamba, layer);
  SetDecoder(fields, heads,
             {.qkv_bias = bias, .out_bias = bias, .ffn_bias = fields.FlagOr("mlp_bias", false)}, 0,
             shape);
}

// NVIDIA 2025, "Nemotron-H": hybrid_override_pattern has M for Mamba-2, * for attention, - for a
// network alone.
void NemotronH(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
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
    ConfigFamily{"nemotron_h", NemotronH},
};

}  // namespace

std::span<const ConfigFamily> MambaFamilies() { return kFamilies; }

}  // namespace folio
