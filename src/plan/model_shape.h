// What a plan needs to know of a model: its layers' keys, values and states, its parameters and the
// bytes that they take. Read from a GGUF file's header, a folder's or a bare config.json, or a
// table of well-known models; Folio need not be able to run it.
#ifndef FOLIO_PLAN_MODEL_SHAPE_H_
#define FOLIO_PLAN_MODEL_SHAPE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kvcache/kv_spec.h"
#include "model/config.h"
#include "model/latent_config.h"
#include "model/weights.h"

namespace folio {

struct LayerShape {
  int query_heads = 0;  // 0: no attention
  // What the layer stores for a token; kv_heads = 0: nothing, since it has no attention or reads
  // another layer's (`reuses`).
  KvLayerSpec kv;
  int reuses = -1;             // the layer whose keys and values it reads (cross-layer sharing)
  bool chunked = false;        // kv.window is the length of chunks that see only themselves
  std::int64_t index_dim = 0;  // of kv.head_dim: a key for choosing positions (DeepSeek V3.2)
  // Numbers that a sequence keeps whatever its length, as 32-bit floats.
  std::int64_t recurrent_elements = 0;
  std::int64_t convolution_elements = 0;
  // Parameters: of attention or what stands for it, norms included; of the network that every token
  // goes through, router and shared experts included; of one routed expert.
  std::uint64_t mixer_parameters = 0;
  std::uint64_t ffn_parameters = 0;
  std::uint64_t expert_parameters = 0;
};

struct ParameterShape {
  std::uint64_t embedding = 0;
  std::uint64_t output = 0;  // 0: it is the embedding
  std::uint64_t tables = 0;  // of embeddings beside it, of which a token reads rows too
  std::uint64_t layers = 0;  // of all layers and the last norm, but routed experts
  std::uint64_t expert = 0;  // of one expert in each layer that has experts
  int experts = 0;           // of such a layer
  int top_k = 0;

  std::uint64_t total() const {
    return embedding + output + tables + layers + expert * static_cast<std::uint64_t>(experts);
  }
  // What one token meets; the embedding counts as a whole, as most papers do.
  std::uint64_t active() const {
    return embedding + output + layers + expert * static_cast<std::uint64_t>(top_k);
  }
  // Of these, what a step computes with and reads whole: an embedding that is no output has one row
  // looked up.
  std::uint64_t active_but_lookups() const { return active() - (output > 0 ? embedding : 0); }
};

// Bytes of the weights.
struct WeightShape {
  std::uint64_t all = 0;
  std::uint64_t always = 0;   // read for every token: not experts, not an embedding's single rows
  std::uint64_t experts = 0;  // of all routed experts
  bool estimated = false;     // from parameters and a type, not from tensors
};

struct ModelShape {
  std::string source;        // the file, for messages
  std::string architecture;  // as the source calls it
  std::string name;          // for people
  std::string runs_not;      // empty: Folio runs such models; else why not
  std::string stored_type;   // of most weights in the source, if it says: "bf16"
  std::string expert_type;   // of experts, where it is another
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;  // of dense layers
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t context_length = 0;  // trained; 0: not said
  int query_heads = 0;
  LatentConfig latent;
  int experts = 0;  // of a layer that has some; 0: none
  int top_k = 0;
  std::vector<LayerShape> layers;                     // none: not known, see `unknown`
  std::string unknown;                                // why there are no layers
  std::optional<ParameterShape> parameters;           // nothing: not counted
  std::optional<WeightShape> weights;                 // nothing: not known
  std::optional<std::uint64_t> published_parameters;  // where they can't be counted
  std::optional<std::uint64_t> published_active;
  std::vector<std::string> notes;  // what was not in the source, and what is left out

  // Of a GGUF file whose architecture Folio runs: what the engine itself reads of it, and what it
  // would take for its weights if they are all there.
  std::shared_ptr<const ModelConfig> config;
  std::optional<WeightBytes> engine_weights;
};

// What the layers store, those that store nothing left out, and which layer each entry is.
struct StoredLayers {
  KvSpec spec;
  std::vector<int> layers;
};
StoredLayers StoredLayersOf(const ModelShape& shape);

// Bytes of recurrent and convolution state of a sequence.
std::uint64_t StateBytes(const ModelShape& shape);

// Sums the layers' parameters, with `ends`' embedding and output and `final_norm` elements.
ParameterShape SumParameters(const ModelShape& shape, ParameterShape ends,
                             std::uint64_t final_norm);

// Bits that a weight of a type takes on average, scales included: "f32", "bf16", "fp8", "q8_0",
// "q4_k", "mxfp4" and what GGUF has; nothing if there is no such type.
std::optional<double> BitsPerWeight(const std::string& type);

// The weights' bytes from their number: `type` and the experts' own.
Result<WeightShape> EstimateWeights(const ModelShape& shape, const std::string& type,
                                    const std::string& expert_type);

}  // namespace folio

#endif  // FOLIO_PLAN_MODEL_SHAPE_H_
