// Families whose layers differ in what they see, or read another layer's keys and values.
#include <array>
#include <string>

#include "plan/config_families.h"

namespace folio {
namespace {

// Gemma Team 2024, "Gemma 2", table 1: windows of 4096 in every second layer.
void Gemma2(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.norms = 4, .tied = true}, 0, shape);
  SetWindows(fields, fields.Tokens("sliding_window"), 2, shape);
}

// Gemma Team 2025, "Gemma 3", section 2: five layers with a window to one without. Files of the
// larger models leave fields to the class (Gemma3TextConfig).
void Gemma3(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  HeadShape heads;
  heads.query_heads = fields.SizeByClass("num_attention_heads", 8);
  heads.kv_heads = fields.SizeByClass("num_key_value_heads", 4);
  heads.key_dim = fields.SizeByClass("head_dim", 256);
  heads.value_dim = heads.key_dim;
  CheckWidth(fields, "head_dim", heads.query_heads * heads.key_dim);
  if (fields.status() && heads.query_heads % heads.kv_heads != 0)
    fields.Refuse("num_key_value_heads", "does not divide num_attention_heads");
  const DecoderTraits traits = {.norms = 4, .head_norms = 2, .tied = true};
  shape.query_heads = static_cast<int>(heads.query_heads);
  shape.ffn = fields.Size("intermediate_size");
  SetDecoder(fields, heads, traits, 0, shape);
  SetWindows(fields, fields.TokensOr("sliding_window", 4096),
             fields.SizeOr(fields.AnyOf({"sliding_window_pattern", "_sliding_window_pattern"}), 6),
             shape);
}

void Cohere2(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.norms = 1, .tied = true}, 0, shape);
  SetWindows(fields, fields.Tokens("sliding_window"), fields.SizeOr("sliding_window_pattern", 4),
             shape);
}

void Olmo3(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.whole_norms = true}, 0, shape);
  SetWindows(fields, fields.TokensOr("sliding_window", 4096), 4, shape);
}

// LG AI Research 2025, "EXAONE 4.0": three layers with a window to one without.
void Exaone4(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.head_norms = 2}, 0, shape);
  const std::int64_t window = fields.TokensOr("sliding_window", 0);
  if (window > 0) SetWindows(fields, window, 4, shape);
}

// OpenAI 2025, "gpt-oss model card", section 2: every second layer sees 128 positions, the first
// among them; a sink for each head, biases everywhere, experts in every layer.
void GptOss(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {
      .qkv_bias = true, .out_bias = true, .ffn_bias = true, .sinks = true};
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  for (LayerShape& layer : shape.layers) SetAttention(shape, heads, traits, 0, layer);
  ReadExperts(fields,
              {.count = "num_local_experts",
               .top_k = fields.AnyOf({"num_experts_per_tok", "experts_per_token"}),
               .router_bias = true},
              traits, AllLayers(shape), shape);
  FinishParameters(fields, traits, shape);
  // Without the list, layers 0, 2, ... see the window: the pattern of SetWindows with 2.
  SetWindows(fields, fields.Tokens("sliding_window"), 2, shape);
}

// Meta 2025, Llama 4: three of four layers see only their own chunk of 8192 positions.
void Llama4(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  const DecoderTraits traits;
  shape.ffn = fields.SizeOr("intermediate_size_mlp", 1);
  const std::int64_t step = fields.SizeOr("interleave_moe_layer_step", 1);
  const std::int64_t every = fields.SizeOr("no_rope_layer_interval", 4);
  const std::int64_t chunk = fields.Tokens("attention_chunk_size");
  std::vector<bool> experts(shape.layers.size());
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    const auto number = static_cast<std::int64_t>(i) + 1;
    layer.chunked = number % every != 0;
    SetAttention(shape, heads, traits, layer.chunked ? chunk : 0, layer);
    experts[i] = number % step == 0;
    if (!experts[i]) layer.ffn_parameters = FfnParameters(shape.hidden, shape.ffn, traits);
  }
  ReadExperts(fields, {.count = "num_local_experts", .shared_ffn = "intermediate_size"}, traits,
              experts, shape);
  FinishParameters(fields, traits, shape);
}

// Tencent 2024, "Hunyuan-Large", section 2: of cla_share_factor layers one stores keys and values,
// the others read them (cross-layer attention, Brandon et al. 2024).
void Hunyuan(ShapeFields& fields, ModelShape& shape) {
  const DecoderTraits traits = {.head_norms = 2, .tied = true};
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  const bool shares = fields.FlagOr("use_cla", false);
  const std::int64_t factor = shares ? fields.Size("cla_share_factor") : 1;
  const std::int64_t ffn = fields.Size("intermediate_size");
  const std::int64_t experts = fields.SizeOr("num_experts", 1);
  shape.ffn = ffn;
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    SetAttention(shape, heads, traits, 0, layer);
    if (experts == 1) layer.ffn_parameters = FfnParameters(shape.hidden, ffn, traits);
    const auto place = static_cast<std::int64_t>(i) % factor;
    if (place == 0) continue;
    layer.reuses = static_cast<int>(static_cast<std::int64_t>(i) - place);
    layer.kv.kv_heads = 0;
    layer.mixer_parameters -= static_cast<std::uint64_t>(shape.hidden * heads.kv_heads *
                                                         (heads.key_dim + heads.value_dim));
  }
  if (experts > 1) {
    ReadExperts(fields,
                {.count = "num_experts",
                 .top_k = "moe_topk",
                 .ffn = fields.AnyOf({"moe_intermediate_size", "intermediate_size"}),
                 .shared_count = "num_shared_expert",
                 .shared_unit = "intermediate_size",
                 .shared_count_or = 1},
                traits, AllLayers(shape), shape);
  }
  FinishParameters(fields, traits, shape);
}

constexpr std::array kFamilies = {
    ConfigFamily{"cohere2", Cohere2},
    ConfigFamily{"exaone4", Exaone4},
    ConfigFamily{"gemma2", Gemma2},
    ConfigFamily{"gemma3_text", Gemma3},
    ConfigFamily{"gemma3n_text", ReadGemma3n},
    ConfigFamily{"gpt_oss", GptOss},
    ConfigFamily{"hunyuan", Hunyuan},
    ConfigFamily{"llama4_text", Llama4},
    ConfigFamily{"olmo3", Olmo3},
};

void SetWindow(LayerShape& layer, std::int64_t window) {
  if (layer.kv.kv_heads > 0) layer.kv.window = window;
}

}  // namespace

void SetWindows(ShapeFields& fields, std::int64_t window, std::int64_t pattern, ModelShape& shape) {
  const auto count = static_cast<std::int64_t>(shape.layers.size());
  if (fields.Has("layer_types")) {
    const std::vector<std::string> types = fields.Words("layer_types", count);
    if (!fields.status()) return;
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i] == "sliding_attention") {
        SetWindow(shape.layers[i], window);
      } else if (types[i] != "full_attention") {
        fields.Refuse("layer_types",
                      "has '" + types[i] + "'; known here are full_attention, sliding_attention");
      }
    }
    return;
  }
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    if (static_cast<std::int64_t>(i + 1) % pattern != 0) SetWindow(shape.layers[i], window);
  }
}

std::span<const ConfigFamily> WindowFamilies() { return kFamilies; }

}  // namespace folio
