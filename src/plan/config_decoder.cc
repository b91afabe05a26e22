// What families of config.json share.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/config_reader.h"
#include "plan/config_families.h"

namespace folio {
namespace {

std::uint64_t U(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace

void ReadSizes(ShapeFields& fields, ModelShape& shape) {
  shape.hidden = fields.Size(fields.AnyOf({"hidden_size", "n_embd"}));
  const std::string_view layers = fields.AnyOf({"num_hidden_layers", "n_layer"});
  const std::int64_t count = fields.Size(layers);
  if (count > static_cast<std::int64_t>(kLargestLayers)) {
    fields.Refuse(layers, "is " + std::to_string(count) + "; at most " +
                              std::to_string(kLargestLayers) + " are taken");
  }
  if (fields.status()) shape.layers.resize(static_cast<std::size_t>(count));
  shape.vocab = fields.Vocabulary("vocab_size");
  shape.context_length =
      fields.TokensOr(fields.AnyOf({"max_position_embeddings", "n_positions"}), 0);
}

void CheckWidth(ShapeFields& fields, std::string_view field, std::int64_t width) {
  constexpr std::int64_t kWidest = std::int64_t{1} << 24;
  if (width > kWidest) {
    fields.Refuse(field, "makes heads of " + std::to_string(width) +
                             " elements together; at most " + std::to_string(kWidest) +
                             " are taken");
  }
}

namespace {

// Classes whose heads are not hidden_size / num_attention_heads wide where the file is silent
// (transformers' GemmaConfig, Gemma2Config, Gemma3nTextConfig, Qwen3Config, GptOssConfig); else 0.
std::int64_t HeadDimOfClass(std::string_view model_type) {
  if (model_type == "gemma" || model_type == "gemma2" || model_type == "gemma3n_text") return 256;
  if (model_type == "qwen3") return 128;
  return model_type == "gpt_oss" ? 64 : 0;
}

// Of older families, whose files have no such field, every head keeps its own, or one does for all.
bool HasGroupedHeads(std::string_view model_type) {
  constexpr std::array<std::string_view, 5> kWithout = {"falcon", "gpt2", "gpt_bigcode", "gpt_neox",
                                                        "phi"};
  return std::ranges::find(kWithout, model_type) == kWithout.end();
}

}  // namespace

HeadShape ReadHeads(ShapeFields& fields, ModelShape& shape) {
  HeadShape heads;
  const std::string_view name = fields.AnyOf({"num_attention_heads", "n_head"});
  heads.query_heads = fields.Size(name);
  heads.kv_heads = fields.SizeOr("num_key_value_heads", heads.query_heads);
  if (fields.status() && heads.query_heads % heads.kv_heads != 0) {
    fields.Refuse("num_key_value_heads", "is " + std::to_string(heads.kv_heads) +
                                             ", which does not divide " + std::string(name) + " " +
                                             std::to_string(heads.query_heads));
  }
  if (!fields.Has("num_key_value_heads") && HasGroupedHeads(shape.architecture))
    fields.Note("num_key_value_heads is not in the file; every head is counted with its own");
  const std::int64_t class_dim = HeadDimOfClass(shape.architecture);
  if (!fields.Has("head_dim") && class_dim == 0 && shape.hidden % heads.query_heads != 0) {
    fields.Refuse("head_dim", "is missing, and hidden_size " + std::to_string(shape.hidden) +
                                  " is no multiple of the " + std::to_string(heads.query_heads) +
                                  " heads");
  }
  heads.key_dim =
      class_dim > 0
          ? fields.SizeByClass("head_dim", class_dim)
          : fields.SizeOr("head_dim", std::max<std::int64_t>(1, shape.hidden / heads.query_heads));
  heads.value_dim = fields.SizeOr("v_head_dim", heads.key_dim);
  CheckWidth(fields, name, heads.query_heads * std::max(heads.key_dim, heads.value_dim));
  shape.query_heads = static_cast<int>(heads.query_heads);
  return heads;
}

void SetAttention(const ModelShape& shape, const HeadShape& heads, const DecoderTraits& traits,
                  std::int64_t window, LayerShape& layer) {
  layer.query_heads = static_cast<int>(heads.query_heads);
  layer.kv = {.kv_heads = static_cast<int>(heads.kv_heads),
              .head_dim = static_cast<int>(heads.key_dim),
              .value_dim = static_cast<int>(heads.value_dim),
              .window = window};
  const std::uint64_t hidden = U(shape.hidden);
  const std::uint64_t queries = U(heads.query_heads * heads.key_dim);
  const std::uint64_t keys = U(heads.kv_heads * heads.key_dim);
  const std::uint64_t values = U(heads.kv_heads * heads.value_dim);
  const std::uint64_t out = U(heads.query_heads * heads.value_dim);
  layer.mixer_parameters +=
      hidden * (queries * (traits.query_gate ? 2 : 1) + keys + values) + out * hidden;
  if (traits.qkv_bias) layer.mixer_parameters += queries + keys + values;
  if (traits.out_bias) layer.mixer_parameters += hidden;
  if (traits.sinks) layer.mixer_parameters += U(heads.query_heads);
  layer.mixer_parameters += U(traits.head_norms * heads.key_dim);
  if (traits.whole_norms) layer.mixer_parameters += queries + keys;
}

std::uint64_t FfnParameters(std::int64_t hidden, std::int64_t ffn, const DecoderTraits& traits) {
  const int matrices = traits.gated ? 3 : 2;
  std::uint64_t parameters = U(matrices * hidden) * U(ffn);
  if (traits.ffn_bias) parameters += U((matrices - 1) * ffn + hidden);
  return parameters;
}

void FinishParameters(ShapeFields& fields, const DecoderTraits& traits, ModelShape& shape) {
  const std::uint64_t norm = U(shape.hidden) * (traits.layer_norm ? 2 : 1);
  for (LayerShape& layer : shape.layers) layer.mixer_parameters += U(traits.norms) * norm;
  const bool tied = fields.FlagOr("tie_word_embeddings", traits.tied);
  const std::uint64_t matrix = U(shape.vocab) * U(shape.hidden);
  shape.parameters =
      SumParameters(shape,
                    {.embedding = matrix + U(traits.learned_positions) * U(shape.hidden),
                     .output = tied ? 0 : matrix},
                    norm);
}

void SetDecoder(ShapeFields& fields, const HeadShape& heads, const DecoderTraits& traits,
                std::int64_t window, ModelShape& shape) {
  for (LayerShape& layer : shape.layers) {
    SetAttention(shape, heads, traits, window, layer);
    layer.ffn_parameters = FfnParameters(shape.hidden, shape.ffn, traits);
  }
  FinishParameters(fields, traits, shape);
}

void ReadDecoder(ShapeFields& fields, const DecoderTraits& traits, std::int64_t window,
                 ModelShape& shape) {
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  const std::int64_t fallback = fields.Has("n_embd") ? 4 * shape.hidden : 0;  // GPT-2's
  shape.ffn = fallback == 0 ? fields.Size("intermediate_size") : fields.SizeOr("n_inner", fallback);
  SetDecoder(fields, heads, traits, window, shape);
}

}  // namespace folio
