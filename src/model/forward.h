// The forward pass: tokens in, logits out, keys and values into the paged cache on the way. Reads
// top to bottom in forward.cc; its two branches are forward_attention.cc and forward_ffn.cc.
#ifndef FOLIO_MODEL_FORWARD_H_
#define FOLIO_MODEL_FORWARD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "kernels/attention.h"
#include "kernels/product.h"
#include "model/config.h"
#include "model/expert_load.h"
#include "model/latent_attention.h"
#include "model/moe_layer.h"
#include "model/positions.h"
#include "model/weights.h"

namespace folio {

// The rows of one call: any mix of sequences, each with any number of new tokens. Every KV group
// has its own list of the same sequences, which differ in their block tables only; they cover the
// rows in order without gaps.
struct ForwardBatch {
  std::span<const std::int32_t> tokens;  // one a row, each in [0, vocab)
  std::span<const std::vector<AttentionSequence>> groups;
  std::span<const std::int64_t> logit_rows;  // rows whose logits are wanted
  // Null, or where the experts of every row go: [rows, layers with experts, top_k], best first.
  std::int16_t* routed_experts = nullptr;
};

// Where a layer's keys and values lie, and which of the block tables leads there.
struct LayerKv {
  KvView view;
  int group = 0;
};

struct ForwardOptions {
  Isa isa = Isa::kScalar;
  Numerics numerics = Numerics::kInt16;
  std::int64_t max_rows = 512;  // most rows of one call
  std::int64_t max_logit_rows =
      64;                        // of the rows above, head products are made for so many at a time
  std::int64_t max_context = 0;  // most positions of a sequence
};

class Forward {
 public:
  // `kv` holds one entry a layer. Weights, pool and what the views point to must outlive the
  // object. Steps go on with packing the weights.
  static Result<std::unique_ptr<Forward>> Create(const ModelConfig& config, ModelWeights& weights,
                                                 std::vector<LayerKv> kv,
                                                 const ForwardOptions& options, ThreadPool& pool);

  // Bytes of workspace that Create reserves.
  static std::size_t WorkspaceBytes(const ModelConfig& config, const std::vector<LayerKv>& kv,
                                    const ForwardOptions& options, int threads);
  // Of these, its buffer for rows, as reserved.
  std::size_t workspace_bytes() const { return workspace_.size(); }

  // logits: [logit_rows, vocab]. Rows at most max_rows. Every row's bits depend only on its own
  // sequence.
  void Run(const ForwardBatch& batch, float* logits);

  // Of the last Run, for each row: the first layer whose router gave infinite or no numbers, or -1.
  // Empty where all is well. Such a row's logits are no numbers.
  std::span<const std::int32_t> router_faults() const { return router_faults_; }

  // Of the last Run: an error if an expert of one of these rows could not be read. Their logits,
  // keys and values mean nothing then.
  Status CheckRead(std::size_t first_row, std::size_t rows) const;

  // Of the layers with experts, in order, since the start.
  std::span<const ExpertLoad> expert_loads() const { return expert_loads_; }

 private:
  // Activations of all rows of a call, [rows, ...] each.
  struct Buffers {
    float* x = nullptr;              // hidden: the residual stream
    float* normed = nullptr;         // hidden
    float* q = nullptr;              // query_heads * head_dim
    float* k = nullptr;              // kv_heads * head_dim
    float* v = nullptr;              // kv_heads * head_dim
    float* attended = nullptr;       // query_heads * value_dim, what attention gives
    float* expanded = nullptr;       // query_heads * value, of MLA
    std::byte* latent = nullptr;     // workspace of MLA
    float* branch = nullptr;         // hidden: a branch's output before it joins the residual
    float* gate = nullptr;           // ffn: the widest network that all rows go through
    float* up = nullptr;             // ffn
    float* shared = nullptr;         // hidden: what the shared expert adds to the others
    float* shared_gate = nullptr;    // 1
    std::byte* moe = nullptr;        // workspace of the layers with experts
    std::byte* packed = nullptr;     // converted activations of the widest product
    std::byte* attention = nullptr;  // workspace of Attention
    std::size_t attention_bytes = 0;
    std::size_t total = 0;
  };

  Forward(const ModelConfig& config, ModelWeights& weights, std::vector<LayerKv> kv,
          const ForwardOptions& options, ThreadPool& pool);
  static Buffers LayOut(const ModelConfig& config, const std::vector<LayerKv>& kv,
                        const ForwardOptions& options, int threads, std::byte* base);

  void Embed(const ForwardBatch& batch);
  void LookUpPositions(std::span<const AttentionSequence> sequences);
  void AttentionBranch(const ForwardBatch& batch, std::size_t layer);
  void FfnBranch(const ForwardBatch& batch, std::size_t layer);
  void FeedForward(const Activations& x, const FfnWeights& weights, float* out);
  void NoteRouting(const ForwardBatch& batch, std::size_t layer);
  void NoteRouterFaults(std::int64_t rows, std::size_t layer);
  void NoteUnreadRows(std::size_t rows);
  void AddSharedExpert(const Activations& x, const MoeWeights& weights);
  void AddBranch(std::int64_t rows, const NormWeights& post_norm);
  void NormRows(const float* in, const NormWeights& norm, std::int64_t rows, float* out);
  void ProjectHeads(const ForwardBatch& batch, const Activations& normed, std::size_t layer);
  void FinishHeads(const ForwardBatch& batch, const LayerWeights& layer, int rope);
  void Head(std::span<const std::int64_t> rows, float* logits);
  void FinishLogits(std::span<float> logits);
  Activations Convert(const float* x, std::int64_t rows, std::int64_t k);

  const ModelConfig* config_;
  ModelWeights* weights_;
  std::vector<LayerKv> kv_;
  ForwardOptions options_;
  ThreadPool* pool_;
  RopePositions positions_;
  std::optional<LatentAttention> latent_;  // of models with MLA
  std::optional<MoeLayer> moe_;            // of models with experts
  std::vector<std::int32_t> router_faults_;
  std::vector<bool> unread_rows_;  // of the last Run; empty: none
  Error read_error_;
  std::vector<ExpertLoad> expert_loads_;
  AlignedBuffer workspace_;
  Buffers buffers_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_FORWARD_H_
