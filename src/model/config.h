// What a model is, in numbers: read from a file's metadata by its architecture's own few lines
// (arch_*.cc).
#ifndef FOLIO_MODEL_CONFIG_H_
#define FOLIO_MODEL_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/model_file.h"
#include "kernels/elementwise.h"
#include "kvcache/kv_spec.h"
#include "model/latent_config.h"
#include "model/moe_router.h"
#include "model/positions/rope_scaling.h"

namespace folio {

enum class FfnActivation { kSilu, kGelu, kClampedSilu };

// The parameters of one rotary embedding; a model may have several (Gemma 3: one for its local
// layers).
struct RopeConfig {
  double base = 10000.0;
  std::int64_t rotary_dim = 0;  // elements of a head that turn, even; 0 = no positions
  RopeScaling scaling;          // how it was stretched
  // Divisors of the frequencies that the file gives (rope_freqs.weight, Llama 3.1's scaling), one a
  // pair, or none.
  std::vector<float> frequency_factors;
};

struct LayerConfig {
  std::int64_t window = 0;  // positions a query sees, itself included; 0 = all
  int rope = 0;             // index into ModelConfig::ropes
  bool experts = false;     // a Mixture of Experts in the place of one network
  int moe_index = -1;       // which of the layers with experts it is
};

struct ModelConfig {
  std::string architecture;  // GGUF's name: "llama"
  std::string name;          // for people
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;         // of the dense layers' networks
  std::int64_t expert_ffn = 0;  // of each expert's
  std::int64_t shared_ffn = 0;  // of the one that every token goes through beside its experts; or 0
  bool shared_gate = false;     // whose output is scaled by a sigmoid of the row
  bool choice_bias = false;     // of the router: moe_router.h's `bias`
  RouterConfig router;
  int moe_layers = 0;  // layers with experts
  std::int64_t vocab = 0;
  std::int64_t context_length = 0;  // trained
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;     // of keys in the cache; without MLA of queries and values too
  LatentConfig latent;  // MLA's
  float norm_eps = 0.0F;
  float attention_scale = 0.0F;
  float embedding_scale = 1.0F;
  float residual_scale = 1.0F;     // of each branch as it joins the residual
  float logit_scale = 1.0F;        // of the logits
  float attention_softcap = 0.0F;  // of scaled scores; 0 = none
  float logit_softcap = 0.0F;      // the same of logits
  FfnActivation activation = FfnActivation::kSilu;
  bool gated_ffn = true;           // down(act(gate x) * up x); else down(act(up x)), with GELU
  bool layer_norm = false;         // LayerNorm in the place of RMSNorm
  bool learned_positions = false;  // a row of a matrix for each, added to the embedding
  RopePairs rope_pairs = RopePairs::kAdjacent;
  bool qkv_bias = false;
  bool attn_out_bias = false;
  bool ffn_bias = false;         // of dense networks
  bool expert_bias = false;      // of the router and of the experts
  bool attention_sinks = false;  // one a query head
  // Several matrices lie in one tensor: query, key and value in attn_qkv, gate and up in ffn_up.
  bool fused_qkv = false;
  bool fused_gate_up = false;
  bool qk_norm = false;        // RMSNorm of every query and key head
  bool qk_norm_whole = false;  // the same over all heads together
  bool post_norms = false;     // RMSNorm of each branch's output before the residual
  std::string_view ffn_norm_tensor = "ffn_norm";  // the norm before the network
  std::vector<RopeConfig> ropes;
  std::vector<LayerConfig> layers;

  int num_layers() const { return static_cast<int>(layers.size()); }
};

// Reads and checks the configuration. An unknown architecture is refused by name, with the list of
// known ones.
Result<ModelConfig> ReadModelConfig(const ModelFile& file);

// What this model needs of a KV cache.
KvSpec KvSpecOf(const ModelConfig& config);

// Names of the architectures that ReadModelConfig knows.
std::vector<std::string_view> KnownArchitectures();

}  // namespace folio

#endif  // FOLIO_MODEL_CONFIG_H_
