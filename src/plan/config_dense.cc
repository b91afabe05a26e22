// Families with one network a layer and the same attention in all of them.
#include <array>

#include "plan/config_families.h"

namespace folio {
namespace {

void Llama(ShapeFields& fields, ModelShape& shape) {
  const bool bias = fields.FlagOr("attention_bias", false);
  ReadDecoder(fields,
              {.qkv_bias = bias, .out_bias = bias, .ffn_bias = fields.FlagOr("mlp_bias", false)}, 0,
              shape);
}

// Jiang et al. 2023, "Mistral 7B": every layer sees a window; later ones have none.
void Mistral(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {}, fields.TokensOr("sliding_window", 0), shape);
}

// Layers from max_window_layers on see a window, if use_sliding_window says so.
void SetUpperWindows(ShapeFields& fields, ModelShape& shape) {
  if (!fields.FlagOr("use_sliding_window", false)) return;
  const std::int64_t window = fields.Tokens("sliding_window");
  const auto full = static_cast<std::size_t>(fields.CountOr("max_window_layers", 28));
  for (std::size_t i = full; i < shape.layers.size(); ++i) shape.layers[i].kv.window = window;
}

void Qwen2(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.qkv_bias = true}, 0, shape);
  SetUpperWindows(fields, shape);
}

void Qwen3(ShapeFields& fields, ModelShape& shape) {
  const bool bias = fields.FlagOr("attention_bias", false);
  ReadDecoder(fields, {.qkv_bias = bias, .out_bias = bias, .head_norms = 2}, 0, shape);
  SetUpperWindows(fields, shape);
}

void Gemma(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.tied = true}, 0, shape);
}

void Phi3(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {}, fields.TokensOr("sliding_window", 0), shape);
}

void Olmo2(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.whole_norms = true}, 0, shape);
}

// GPT-2's kind of layer: norms with a bias, a network of two matrices, biases everywhere or
// nowhere.
constexpr DecoderTraits OfGpt(bool bias) {
  return {.gated = false, .qkv_bias = bias, .out_bias = bias, .ffn_bias = bias, .layer_norm = true};
}

// Multi-query attention's best known model: one key and value for all heads (Li et al. 2023).
void GptBigCode(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  HeadShape heads = ReadHeads(fields, shape);
  if (fields.FlagOr("multi_query", true)) heads.kv_heads = 1;
  shape.ffn = fields.SizeOr("n_inner", 4 * shape.hidden);
  DecoderTraits traits = OfGpt(true);
  traits.tied = true;
  traits.learned_positions = shape.context_length;
  SetDecoder(fields, heads, traits, 0, shape);
}

// Radford et al. 2019: every head has its own keys and values.
void Gpt2(ShapeFields& fields, ModelShape& shape) {
  DecoderTraits traits = OfGpt(true);
  traits.tied = true;
  traits.learned_positions = fields.TokensOr("n_positions", 1024);
  ReadDecoder(fields, traits, 0, shape);
}

void GptNeoX(ShapeFields& fields, ModelShape& shape) { ReadDecoder(fields, OfGpt(true), 0, shape); }

void Starcoder2(ShapeFields& fields, ModelShape& shape) {
  DecoderTraits traits = OfGpt(fields.FlagOr("use_bias", true));
  traits.tied = true;
  ReadDecoder(fields, traits, fields.TokensOr("sliding_window", 0), shape);
}

void Glm4(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.qkv_bias = fields.FlagOr("attention_bias", false), .norms = 4}, 0, shape);
}

void Cohere(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.norms = 1, .tied = true}, 0, shape);
}

// Almazrouei et al. 2023, "The Falcon Series": one key and value for all heads (7B), or groups.
void Falcon(ShapeFields& fields, ModelShape& shape) {
  ReadSizes(fields, shape);
  const bool grouped = fields.FlagOr("new_decoder_architecture", false);
  HeadShape heads = ReadHeads(fields, shape);
  heads.kv_heads = grouped ? fields.SizeOr("num_kv_heads", heads.query_heads)
                   : fields.FlagOr("multi_query", true) ? 1
                                                        : heads.query_heads;
  if (fields.status() && heads.query_heads % heads.kv_heads != 0)
    fields.Refuse("num_kv_heads", "does not divide num_attention_heads");
  shape.ffn = fields.SizeOr("ffn_hidden_size", 4 * shape.hidden);
  DecoderTraits traits = OfGpt(fields.FlagOr("bias", false));
  traits.norms = grouped ? 2 : 1;
  traits.tied = true;
  SetDecoder(fields, heads, traits, 0, shape);
}

// Microsoft 2023, phi-2: attention and network side by side, biases everywhere, the output's too.
void Phi(ShapeFields& fields, ModelShape& shape) {
  DecoderTraits traits = OfGpt(true);
  traits.norms = 1;
  ReadDecoder(fields, traits, 0, shape);
  shape.parameters->layers += static_cast<std::uint64_t>(shape.vocab);
}

void StableLm(ShapeFields& fields, ModelShape& shape) {
  ReadDecoder(fields, {.qkv_bias = fields.FlagOr("use_qkv_bias", false), .layer_norm = true}, 0,
              shape);
}

constexpr std::array kFamilies = {
    ConfigFamily{"cohere", Cohere},
    ConfigFamily{"ernie4_5", Gemma},
    ConfigFamily{"falcon", Falcon},
    ConfigFamily{"gemma", Gemma},
    ConfigFamily{"glm4", Glm4},
    ConfigFamily{"gpt2", Gpt2},
    ConfigFamily{"gpt_bigcode", GptBigCode},
    ConfigFamily{"gpt_neox", GptNeoX},
    ConfigFamily{"granite", Llama},
    ConfigFamily{"internlm2", Llama},
    ConfigFamily{"llama", Llama},
    ConfigFamily{"ministral", Mistral},
    ConfigFamily{"mistral", Mistral},
    ConfigFamily{"olmo2", Olmo2},
    ConfigFamily{"phi", Phi},
    ConfigFamily{"phi3", Phi3},
    ConfigFamily{"qwen2", Qwen2},
    ConfigFamily{"qwen3", Qwen3},
    ConfigFamily{"seed_oss", Qwen2},
    ConfigFamily{"smollm3", Llama},
    ConfigFamily{"stablelm", StableLm},
    ConfigFamily{"starcoder2", Starcoder2},
};

}  // namespace

std::span<const ConfigFamily> DenseFamilies() { return kFamilies; }

}  // namespace folio
