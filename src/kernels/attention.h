// Attention over the paged KV cache, computed as FlashAttention (Dao et al. 2022): tiles of 32
// absolute key positions in order, online softmax, no n x n matrix. Definitions in
// docs/design/numerics.md; bits do not depend on the ISA, on how queries are grouped or chunked, or
// on threads: state starts anew at fixed absolute positions (kAttentionSplit) and the parts are
// merged in order, in prefill and decode alike.
#ifndef FOLIO_KERNELS_ATTENTION_H_
#define FOLIO_KERNELS_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "quant/kv_type.h"

namespace folio {

constexpr int kKvTileTokens = 16;              // tokens of one K or V tile inside a block
constexpr std::int64_t kAttentionTile = 32;    // positions per online-softmax step
constexpr std::int64_t kAttentionSplit = 512;  // positions per independently computed part

// Where the keys and values of one layer lie. A block holds, for each layer and KV head, its K
// tiles and then its V tiles (block_size / 16 of each). bf16: K tile [head_dim/2][16 tokens][2], V
// tile [16/2][head_dim][2] (pair-major, as AMX wants its B operand). f32 and f16: K tile
// [head_dim][16 tokens], V tile [16 tokens][head_dim]. q8_0: K and V as 32-element groups along
// head_dim, an f16 scale each: K tile scales [head_dim/32][16] then int8 [head_dim][16]; V tile
// scales [16][head_dim/32] then int8 [16][head_dim].
struct KvView {
  std::byte* base = nullptr;      // start of the arena
  std::int64_t block_stride = 0;  // bytes from one block to the next
  std::int64_t layer_offset = 0;  // bytes from a block's start to this layer
  std::int64_t head_stride = 0;   // bytes from one KV head to the next
  std::int64_t v_offset = 0;      // bytes from a head's first K tile to its first V tile
  int block_size = 16;            // tokens, a multiple of 16
  int kv_heads = 0;
  int head_dim = 0;  // of keys and, where latent_dim is 0, of values; a multiple of 32
  // Not 0: a token's value is the first latent_dim elements (a multiple of 32) of its key, and only
  // keys are stored: the latent vectors of MLA (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.2).
  int latent_dim = 0;
  KvType type = KvType::kBf16;

  int value_dim() const { return latent_dim == 0 ? head_dim : latent_dim; }
};

// Bytes of one K tile, or one V tile, of 16 tokens.
constexpr std::size_t KvTileBytes(KvType type, int head_dim) {
  return KvVectorBytes(type, head_dim) * kKvTileTokens;
}

// The rows of one sequence in a call: query rows [first_row, first_row + rows) at absolute
// positions [first_position, first_position + rows). block_table[i] is the block of positions
// [i*block_size, (i+1)*block_size); entries that no query's window sees may be -1.
struct AttentionSequence {
  const std::int32_t* block_table = nullptr;
  std::int64_t first_position = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t stored_rows = 0;  // leading rows that StoreKv leaves alone: another sequence, which
                                 // may share their block, has stored the same bits
};

// A key or value with an element that is no finite number in the KV type is stored as a key of no
// number and a value of zeros: rows that see it become no numbers, others don't know of it.
//
// Stores keys and values k, v [all rows, kv_heads, head_dim] (already rotated) of every sequence's
// rows in their blocks, leading stored_rows left out. Writing the first token of a 16-token V tile
// zeroes the rest of that tile, so that no stale value is ever read; of latent vectors that of a K
// tile, and v is not read.
void StoreKv(Isa isa, const KvView& kv, std::span<const AttentionSequence> sequences,
             const float* k, const float* v, ThreadPool& pool);

struct AttentionParams {
  int query_heads =
      0;  // a multiple of kv.kv_heads; query head h reads KV head h / (query_heads / kv_heads)
  float scale = 0.0F;       // multiplies q.k
  float softcap = 0.0F;     // a scaled score s becomes softcap * tanh(s / softcap); 0 = s
  std::int64_t window = 0;  // a query at position p sees positions (p - window, p]; 0 = all up to p
  // [query_heads] or null: one more score of each head, which takes part in the softmax's sum and
  // has no value (attention sinks: OpenAI 2025, gpt-oss' model card, section 2.3).
  const float* sinks = nullptr;
};

// Bytes of workspace that Attention needs for these sequences.
std::size_t AttentionWorkspaceBytes(const KvView& kv, const AttentionParams& params,
                                    std::span<const AttentionSequence> sequences, int threads);

// out[row][query_head][value_dim] = softmax(softcap(scale * q.K^T) + causal and window mask) V, for
// q [rows, query_heads, head_dim]. The keys of the rows themselves must have been stored.
// `workspace` is 64-byte aligned.
void Attention(Isa isa, const KvView& kv, const AttentionParams& params,
               std::span<const AttentionSequence> sequences, const float* q, float* out,
               std::span<std::byte> workspace, ThreadPool& pool);

}  // namespace folio

#endif  // FOLIO_KERNELS_ATTENTION_H_
