// Google 2025, Gemma 3n: the last layers read the keys and values of the last layer of their kind
// that has its own; a nested network (MatFormer, Devvrit et al. 2023) may be as wide as each layer
// pleases; several streams instead of one (AltUp, Baykal et al. 2023), a low-rank residual (LAuReL,
// Menghani et al. 2024), and an embedding for each layer, whose rows are looked up.
#include <algorithm>
#include <string>
#include <vector>

#include "plan/config_families.h"

namespace folio {
namespace {

std::uint64_t U(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// What its layers have beside attention and network.
struct Extras {
  std::int64_t streams = 0;       // of AltUp
  std::int64_t laurel_rank = 0;   // of LAuReL
  std::int64_t layer_input = 0;   // width of a layer's own embedding
  std::int64_t layer_tokens = 0;  // rows of these
};

Extras ReadExtras(ShapeFields& fields) {
  Extras extras = {.streams = fields.SizeByClass("altup_num_inputs", 4),
                   .laurel_rank = fields.SizeByClass("laurel_rank", 64),
                   .layer_input = fields.SizeByClass("hidden_size_per_layer_input", 256)};
  constexpr std::int64_t kMostStreams = 64;
  if (extras.streams > kMostStreams)
    fields.Refuse("altup_num_inputs", "is " + std::to_string(extras.streams));
  extras.layer_tokens = fields.SizeByClass("vocab_size_per_layer_input", 262'144);
  return extras;
}

// A layer's: AltUp's router with its norm, coefficients that predict all streams from all and
// correct them, and the scale of its output; LAuReL's two matrices and norm; the gate of the
// layer's embedding, the way back and its norm.
std::uint64_t LayerExtras(const Extras& extras, std::uint64_t hidden) {
  const std::uint64_t streams = U(extras.streams);
  return (hidden * streams + hidden) + (streams * streams * streams + streams * streams) + hidden +
         (2 * hidden * U(extras.laurel_rank) + hidden) +
         (2 * hidden * U(extras.layer_input) + hidden);
}

// The model's: into the other streams and out of them, and from the hidden state to all layers'
// inputs, with the norm of one.
std::uint64_t ModelExtras(const Extras& extras, std::uint64_t hidden, std::size_t layers) {
  return 2 * (U(extras.streams) - 1) * hidden * hidden + hidden * (layers * U(extras.layer_input)) +
         U(extras.layer_input);
}

// One width for all layers, or one for each.
std::vector<std::int64_t> NetworkWidths(ShapeFields& fields, const ModelShape& shape) {
  const Json* field = fields.Find("intermediate_size");
  if (field == nullptr || !field->is_array())
    return std::vector<std::int64_t>(shape.layers.size(), fields.Size("intermediate_size"));
  std::vector<std::int64_t> widths =
      fields.Numbers("intermediate_size", static_cast<std::int64_t>(shape.layers.size()));
  widths.resize(shape.layers.size());
  return widths;
}

std::int64_t SharedLayers(ShapeFields& fields, std::int64_t count) {
  constexpr std::int64_t kOfClass = 15;
  if (!fields.Has("num_kv_shared_layers")) {
    fields.Note("num_kv_shared_layers is not in the file; its class's default is " +
                std::to_string(kOfClass));
  }
  const std::int64_t shared = fields.CountOr("num_kv_shared_layers", kOfClass);
  if (shared >= count && fields.status()) {
    fields.Refuse("num_kv_shared_layers",
                  "is " + std::to_string(shared) + " of " + std::to_string(count) + " layers");
  }
  return shared;
}

// The last layer before `own` that sees what `layer` does; -1: none.
int LayerToRead(const ModelShape& shape, const LayerShape& layer, std::int64_t own) {
  for (std::int64_t from = own - 1; from >= 0; --from) {
    if (shape.layers[static_cast<std::size_t>(from)].kv.window == layer.kv.window)
      return static_cast<int>(from);
  }
  return -1;
}

void ShareLayers(ShapeFields& fields, ModelShape& shape) {
  const auto count = static_cast<std::int64_t>(shape.layers.size());
  const std::int64_t own = count - SharedLayers(fields, count);
  if (!fields.status()) return;
  for (std::int64_t i = own; i < count; ++i) {
    LayerShape& layer = shape.layers[static_cast<std::size_t>(i)];
    layer.reuses = LayerToRead(shape, layer, own);
    if (layer.reuses < 0) {
      fields.Refuse("layer_types", "has no layer before the shared ones that sees what layer " +
                                       std::to_string(i) + " does");
      return;
    }
  }
  for (std::int64_t i = own; i < count; ++i) {
    LayerShape& layer = shape.layers[static_cast<std::size_t>(i)];
    layer.kv = {.kv_heads = 0, .head_dim = layer.kv.head_dim, .window = layer.kv.window};
  }
}

}  // namespace

void ReadGemma3n(ShapeFields& fields, ModelShape& shape) {
  // Layers that read others' keys have matrices for their own all the same, and do not use them.
  const DecoderTraits traits = {.norms = 4, .head_norms = 2, .tied = true};
  ReadSizes(fields, shape);
  const HeadShape heads = ReadHeads(fields, shape);
  const Extras extras = ReadExtras(fields);
  const std::vector<std::int64_t> widths = NetworkWidths(fields, shape);
  if (!fields.status()) return;
  const std::uint64_t hidden = U(shape.hidden);
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    LayerShape& layer = shape.layers[i];
    SetAttention(shape, heads, traits, 0, layer);
    layer.mixer_parameters += LayerExtras(extras, hidden);
    layer.ffn_parameters = FfnParameters(shape.hidden, widths[i], traits);
    shape.ffn = std::max(shape.ffn, widths[i]);
  }
  FinishParameters(fields, traits, shape);
  shape.parameters->layers += ModelExtras(extras, hidden, shape.layers.size());
  shape.parameters->tables = U(extras.layer_tokens) * (shape.layers.size() * U(extras.layer_input));
  SetWindows(fields, fields.Tokens("sliding_window"), 5, shape);
  ShareLayers(fields, shape);
}

}  // namespace folio
