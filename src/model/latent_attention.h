// Multi-head latent attention in its absorbed form (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.2
// and appendix C): what lies before and after attention proper. Reads top to bottom in
// latent_attention.cc.
//
// A head's key is k_b c next to the rotated key that all heads share, its value v_b c, c being the
// token's latent vector. Since q . (k_b c) = (k_b^T q) . c and sum p (v_b c) = v_b (sum p c),
// queries are taken into the latent space and results out of it: the cache has one head, whose key
// is c and the rotated part, and whose value is c.
#ifndef FOLIO_MODEL_LATENT_ATTENTION_H_
#define FOLIO_MODEL_LATENT_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "kernels/product.h"
#include "model/config.h"
#include "model/positions.h"
#include "model/weights.h"

namespace folio {

class LatentAttention {
 public:
  // Bytes of workspace for calls of at most `max_rows` rows.
  static std::size_t WorkspaceBytes(const ModelConfig& config, std::int64_t max_rows);

  // `workspace` must outlive the object.
  LatentAttention(const ModelConfig& config, Isa isa, Numerics numerics, std::int64_t max_rows,
                  std::byte* workspace);

  // x: the normed rows, converted. q: [rows, query_heads, head_dim], k: [rows, head_dim], as the
  // cache has them.
  void Project(const LayerWeights& layer, const RopePositions& positions, const Activations& x,
               float* q, float* k, ThreadPool& pool);

  // latent: [rows, query_heads, rank], what attention gave. out: [rows, query_heads * value].
  void Expand(const LatentWeights& weights, std::int64_t rows, const float* latent, float* out,
              ThreadPool& pool);

 private:
  struct Buffers {
    float* queries = nullptr;        // [rows, query_heads, plain + rotary]
    float* query_latent = nullptr;   // [rows, query_rank]
    float* latent = nullptr;         // [rows, rank + rotary]
    float* by_head = nullptr;        // [query_heads, rows, plain or rank]
    std::byte* converted = nullptr;  // of each head's rows
    std::byte* query_converted = nullptr;
    std::size_t total = 0;
  };

  static Buffers LayOut(const ModelConfig& config, std::int64_t max_rows, std::byte* base);

  void MakeQueries(const LayerWeights& layer, const Activations& x, ThreadPool& pool);
  void FinishKey(const LatentWeights& weights, const RopePositions& positions, std::int64_t row,
                 float* k) const;
  void FinishQueries(const RopePositions& positions, std::int64_t rows, std::int64_t row,
                     float* q) const;
  // One product a head: y[row][head] = matrices[head] . by_head[head][row], rows of a head being
  // `from` wide and those of y `stride` apart, head after head `step`.
  void MultiplyHeads(const std::vector<PackedMatrix>& matrices, std::int64_t rows, float* y,
                     std::int64_t stride, std::int64_t step, ThreadPool& pool);

  const ModelConfig* config_;
  Isa isa_;
  Numerics numerics_;
  Buffers buffers_;
  std::vector<ProductJob> jobs_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_LATENT_ATTENTION_H_
