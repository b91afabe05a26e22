// A model's weights: every matrix in the kernels' layout (packed while the first tokens are made:
// weight_packing.h), every vector as floats.
#ifndef FOLIO_MODEL_WEIGHTS_H_
#define FOLIO_MODEL_WEIGHTS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/error.h"
#include "cpu/thread_pool.h"
#include "formats/model_file.h"
#include "kernels/product.h"
#include "model/config.h"
#include "model/expert_cache.h"
#include "model/transposed_tensor.h"
#include "model/weight_packing.h"

namespace folio {

// A norm of rows.
struct NormWeights {
  std::vector<float> weight;
  std::vector<float> bias;  // LayerNorm's

  bool empty() const { return weight.empty(); }
};

// One feed-forward network. Vectors are empty where the architecture has none.
struct FfnWeights {
  PackedMatrix gate;             // [ffn, hidden]; n = 0: the network has no gate
  PackedMatrix up;               // [ffn, hidden]
  PackedMatrix down;             // [hidden, ffn]
  std::vector<float> gate_bias;  // [ffn]
  std::vector<float> up_bias;    // [ffn]
  std::vector<float> down_bias;  // [hidden]
};

struct MoeWeights {
  PackedMatrix router;              // [experts, hidden]
  std::vector<float> router_bias;   // [experts]: of the router's linear layer
  std::vector<float> choice_bias;   // [experts]: moe_router.h's `bias`
  std::vector<FfnWeights> experts;  // empty in a dense layer
  FfnWeights shared;                // a network that every token goes through
  PackedMatrix shared_gate;         // [1, hidden]: its sigmoid scales the shared network's output
  // Null: all experts are in memory. Else they are asked of it by this number of the layer, and
  // have no data while they are not.
  ExpertCache* cache = nullptr;
  int cache_layer = 0;
};

// MLA's projections. A head's rows of k_b take its query into the latent space, those of v_b a
// latent vector to its value: the absorbed form, in which no head's keys and values are ever made.
struct LatentWeights {
  PackedMatrix q_a;               // [query_rank, hidden]; n = 0: queries come from LayerWeights::q
  std::vector<float> q_a_norm;    // [query_rank]
  PackedMatrix q_b;               // [query_heads * (plain + rotary), query_rank]
  PackedMatrix kv_a;              // [rank + rotary, hidden]
  std::vector<float> kv_a_norm;   // [rank]
  std::vector<PackedMatrix> k_b;  // of each head, [rank, plain]
  std::vector<PackedMatrix> v_b;  // of each head, [value, rank]
};

// Vectors are empty where the architecture has none. Shapes are [out, in] as PackedMatrix counts
// them.
struct LayerWeights {
  NormWeights attn_norm;             // [hidden]
  PackedMatrix q;                    // [query_heads * head_dim, hidden]
  PackedMatrix k;                    // [kv_heads * head_dim, hidden]
  PackedMatrix v;                    // [kv_heads * head_dim, hidden]
  std::vector<float> q_bias;         // [query_heads * head_dim]
  std::vector<float> k_bias;         // [kv_heads * head_dim]
  std::vector<float> v_bias;         // [kv_heads * head_dim]
  std::vector<float> q_norm;         // [head_dim]
  std::vector<float> k_norm;         // [head_dim]
  LatentWeights latent;              // in the place of k and v
  std::vector<float> sinks;          // [query_heads]: kernels/attention.h
  PackedMatrix attn_out;             // [hidden, query_heads * head_dim]
  std::vector<float> attn_out_bias;  // [hidden]
  NormWeights attn_post_norm;        // [hidden]
  NormWeights ffn_norm;              // [hidden]
  FfnWeights ffn;                    // of a dense layer
  MoeWeights moe;                    // of one with experts
  NormWeights ffn_post_norm;         // [hidden]
};

// Calls visit(matrix) for each matrix of a network that there is.
template <typename Visit>
void ForEachMatrix(const FfnWeights& weights, const Visit& visit) {
  for (const PackedMatrix* matrix : {&weights.gate, &weights.up, &weights.down})
    if (matrix->n > 0) visit(*matrix);
}

template <typename Visit>
void ForEachMatrix(const LatentWeights& weights, const Visit& visit) {
  for (const PackedMatrix* matrix : {&weights.q_a, &weights.q_b, &weights.kv_a})
    if (matrix->n > 0) visit(*matrix);
  for (const PackedMatrix& matrix : weights.k_b) visit(matrix);
  for (const PackedMatrix& matrix : weights.v_b) visit(matrix);
}

// The same for a layer's matrices that every row goes through: all but the experts'.
template <typename Visit>
void ForEachMatrix(const LayerWeights& layer, const Visit& visit) {
  for (const PackedMatrix* matrix :
       {&layer.q, &layer.k, &layer.v, &layer.attn_out, &layer.moe.router, &layer.moe.shared_gate})
    if (matrix->n > 0) visit(*matrix);
  ForEachMatrix(layer.latent, visit);
  ForEachMatrix(layer.ffn, visit);
  ForEachMatrix(layer.moe.shared, visit);
}

struct ModelWeights {
  PackedMatrix token_embedding;     // [vocab, hidden]
  PackedMatrix position_embedding;  // [context, hidden], of learned positions
  PackedMatrix output;      // [vocab, hidden]; the embedding itself where the file ties them
  NormWeights output_norm;  // [hidden]
  std::vector<LayerWeights> layers;
  std::deque<TransposedTensor> transposed;  // which `packing` packs from
  WeightPacking packing;  // owns what all the matrices point into, but for those of the cache
  std::unique_ptr<ExpertCache> expert_cache;  // null: all experts are in memory
};

// What LoadWeights reserves.
struct WeightBytes {
  std::uint64_t all = 0;
  std::uint64_t dense = 0;                // without the experts
  std::int64_t experts = 0;               // of all layers
  std::uint64_t cache_without_slots = 0;  // of the experts that are in memory,
  std::uint64_t cache_slot = 0;           // and of each of them
};
Result<WeightBytes> MeasureWeights(const ModelFile& file, const ModelConfig& config);

// Checks every tensor's presence and shape and reads the vectors; the matrices can be used at once
// and are packed later. `file` must outlive the weights, whose products run on `pool`.
// `expert_slots`: so many experts are in memory at a time, 0 = all.
Result<std::unique_ptr<ModelWeights>> LoadWeights(const ModelFile& file, const ModelConfig& config,
                                                  const ThreadPool& pool,
                                                  std::int64_t expert_slots = 0);

}  // namespace folio

#endif  // FOLIO_MODEL_WEIGHTS_H_
