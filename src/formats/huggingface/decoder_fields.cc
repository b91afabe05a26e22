// Fields of config.json that families share.
#include <string>

#include "formats/huggingface/families.h"

namespace folio {

std::uint64_t MapDecoder(ConfigFields& config, ModelBuilder& model) {
  const std::uint64_t hidden = config.Uint("hidden_size");
  const std::uint64_t heads = config.Uint("num_attention_heads");
  if (heads == 0) config.Refuse("num_attention_heads", "is 0");
  model.Set("embedding_length", hidden, "hidden_size");
  model.Set("block_count", config.Uint("num_hidden_layers"), "num_hidden_layers");
  model.Set("feed_forward_length", config.Uint("intermediate_size"), "intermediate_size");
  model.Set("context_length", config.Uint("max_position_embeddings"), "max_position_embeddings");
  model.Set("attention.head_count", heads, "num_attention_heads");
  model.Set("attention.head_count_kv", config.UintOr("num_key_value_heads", heads),
            "num_key_value_heads");
  model.Set("attention.layer_norm_rms_epsilon", config.Float("rms_norm_eps"), "rms_norm_eps");
  config.RequireAbsent("quantization_config");
  config.RequireFalse("mlp_bias");
  const std::uint64_t head_dim = config.UintOr("head_dim", heads == 0 ? 0 : hidden / heads);
  model.Set("attention.key_length", head_dim, "head_dim");
  model.Set("attention.value_length", head_dim, "head_dim");
  return head_dim;
}

void RequireSilu(ConfigFields& config) { config.RequireWord("hidden_act", "silu", {"silu"}); }

void RequireFullAttention(ConfigFields& config) {
  const Json* types = config.Find("layer_types");
  if (types == nullptr) return;
  if (!types->is_array()) {
    config.Refuse("layer_types", "is " + DescribeJson(*types) + "; a list is needed");
    return;
  }
  for (const Json& type : *types) {
    if (type != "full_attention")
      config.Refuse("layer_types",
                    "has " + DescribeJson(type) + "; supported is only full_attention");
  }
}

void MapExperts(ConfigFields& config, ModelBuilder& model) {
  const std::string_view count =
      config.Has("num_local_experts") ? "num_local_experts" : "num_experts";
  model.Set("expert_count", config.Uint(count), count);
  model.Set("expert_used_count", config.Uint("num_experts_per_tok"), "num_experts_per_tok");
}

void RequireExpertsInAllLayers(ConfigFields& config) {
  if (const std::uint64_t step = config.UintOr("decoder_sparse_step", 1); step != 1)
    config.Refuse("decoder_sparse_step", "is " + std::to_string(step) + "; supported is only 1");
  if (const Json* dense = config.Find("mlp_only_layers"); dense != nullptr && !dense->empty())
    config.Refuse("mlp_only_layers", "lists layers; supported are experts in all of them");
}

}  // namespace folio
