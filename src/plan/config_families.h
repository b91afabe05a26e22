// Families of config.json's that a plan is read from: each a word of "model_type" and a function
// (config_*.cc) that fills the shape.
#ifndef FOLIO_PLAN_CONFIG_FAMILIES_H_
#define FOLIO_PLAN_CONFIG_FAMILIES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/model_shape.h"
#include "plan/shape_fields.h"

namespace folio {

struct ConfigFamily {
  std::string_view model_type;
  void (*read)(ShapeFields& fields, ModelShape& shape);
};

std::span<const ConfigFamily> DenseFamilies();   // one network a layer
std::span<const ConfigFamily> ExpertFamilies();  // a Mixture of Experts
std::span<const ConfigFamily> WindowFamilies();  // some layers see a window, or share
std::span<const ConfigFamily> LatentFamilies();  // multi-head latent attention
std::span<const ConfigFamily> HybridFamilies();  // states in the place of keys and values
std::span<const ConfigFamily> MambaFamilies();   // these of Mamba

// How a family's decoder departs from llama's, for its parameters to be counted.
struct DecoderTraits {
  bool gated = true;
  bool qkv_bias = false;
  bool out_bias = false;
  bool ffn_bias = false;
  bool layer_norm = false;   // a bias beside each norm's weight
  int norms = 2;             // of `hidden` elements, of a layer
  int head_norms = 0;        // 2: of queries' and keys' heads
  bool whole_norms = false;  // of all heads together
  bool sinks = false;        // a number for each query head
  bool query_gate = false;   // a gate as wide as the queries
  bool tied = false;         // where tie_word_embeddings is not there
  std::int64_t learned_positions = 0;
};

struct HeadShape {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
};

// hidden_size, num_hidden_layers and what is beside them.
void ReadSizes(ShapeFields& fields, ModelShape& shape);
// All heads of a layer together may be so wide that no product of theirs overflows.
void CheckWidth(ShapeFields& fields, std::string_view field, std::int64_t width);
// num_attention_heads, num_key_value_heads, head_dim.
HeadShape ReadHeads(ShapeFields& fields, ModelShape& shape);
// A layer with attention of these heads; window 0: all positions.
void SetAttention(const ModelShape& shape, const HeadShape& heads, const DecoderTraits& traits,
                  std::int64_t window, LayerShape& layer);
std::uint64_t FfnParameters(std::int64_t hidden, std::int64_t ffn, const DecoderTraits& traits);
// Norms, embedding and output; the layers' own parameters have been set.
void FinishParameters(ShapeFields& fields, const DecoderTraits& traits, ModelShape& shape);

// Attention of these heads and a network of shape.ffn in every layer.
void SetDecoder(ShapeFields& fields, const HeadShape& heads, const DecoderTraits& traits,
                std::int64_t window, ModelShape& shape);
// A decoder whose layers are all the same: full attention, or all of them a window.
void ReadDecoder(ShapeFields& fields, const DecoderTraits& traits, std::int64_t window,
                 ModelShape& shape);

// Layers with experts: all of them; those behind the first `dense`, one in `step`.
std::vector<bool> AllLayers(const ModelShape& shape);
std::vector<bool> LayersBehind(std::int64_t dense, std::int64_t step, const ModelShape& shape);

// Where a family keeps the numbers of its experts.
struct ExpertFields {
  std::string_view count;  // of a layer
  std::string_view top_k = "num_experts_per_tok";
  std::string_view ffn = "intermediate_size";  // an expert's width
  // The width of a network beside them that every token goes through (empty: there is none), or the
  // number of experts that it is as wide as, each as `shared_unit`, else as an expert.
  std::string_view shared_ffn;
  std::string_view shared_count;
  std::string_view shared_unit;
  std::int64_t shared_count_or = 0;
  bool shared_gate = false;
  bool router_bias = false;
  bool choice_bias = false;
};

// intermediate_size in the layers without experts, if there are such.
void ReadDenseNetworks(ShapeFields& fields, const DecoderTraits& traits,
                       const std::vector<bool>& has_experts, ModelShape& shape);
// The experts of every layer for which `has` is true.
void ReadExperts(ShapeFields& fields, const ExpertFields& names, const DecoderTraits& traits,
                 const std::vector<bool>& has, ModelShape& shape);

// Which layers see a window: by layer_types, else all but one in `pattern`, the last of them.
void SetWindows(ShapeFields& fields, std::int64_t window, std::int64_t pattern, ModelShape& shape);

// Which layers have attention: those whose word in layer_types is `attention`; the others' is
// `other`.
std::vector<bool> AttentionLayers(ShapeFields& fields, const ModelShape& shape,
                                  std::string_view attention, std::string_view other);

// config_gemma3n.cc
void ReadGemma3n(ShapeFields& fields, ModelShape& shape);

}  // namespace folio

#endif  // FOLIO_PLAN_CONFIG_FAMILIES_H_
