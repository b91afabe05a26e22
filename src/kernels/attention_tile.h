// Between the attention driver, which walks sequences, splits and tiles (attention.cc), and the
// per-ISA functions that compute a tile: plain structs, so ISA files may include this. Definitions:
// docs/design/numerics.md, 'Attention'.
#ifndef FOLIO_KERNELS_ATTENTION_TILE_H_
#define FOLIO_KERNELS_ATTENTION_TILE_H_

#include <cstddef>
#include <cstdint>

#include "quant/kv_type.h"

namespace folio {

// Rows of queries that share one KV head, and their softmax state. Row r is query head r % group
// (of the KV head's group) at position first_position + r / group.
struct AttentionRows {
  int rows = 0;
  int group = 0;
  int head_dim = 0;
  int value_dim = 0;
  float scale = 0.0F;
  float softcap = 0.0F;  // of the scaled scores; 0 = none
  std::int64_t first_position = 0;
  float* q = nullptr;  // [rows, head_dim]; for bf16 already rounded
  float* p = nullptr;  // [rows rounded up to 16, 32]: scores, then weights, of the tile at hand
  float* scratch = nullptr;     // [rows rounded up to 16] x 2
  float* m = nullptr;           // [rows rounded up to 16]: largest score so far
  float* l = nullptr;           // [rows rounded up to 16]: sum of weights; 0: no key seen
  float* o = nullptr;           // [rows, value_dim]: weighted sum of values
  std::byte* values = nullptr;  // V tiles made of latent keys: both halves of the tile at hand
};

// 32 positions of keys and values, as two 16-token tiles. A half that no row sees is null.
struct AttentionTile {
  const std::byte* k[2] = {};
  const std::byte* v[2] = {};
  // Bytes from each half to the same half of the tile that comes next, to prefetch; 0 = none.
  std::int64_t k_ahead[2] = {};
  std::int64_t v_ahead[2] = {};
  std::int64_t first_position = 0;
  std::int64_t window = 0;  // 0 = all
  // Rows [row_begin, row_end) see at least one key of the tile; the others' state is not touched.
  int row_begin = 0;
  int row_end = 0;
};

struct AttentionKernels {
  // out[i] = q[i], rounded to bf16 and back if `round`.
  void (*load_queries)(bool round, const float* q, std::int64_t n, float* out);
  // One online-softmax step of the rows that see the tile.
  void (*tile_step)(KvType type, const AttentionRows& rows, const AttentionTile& tile);
  // total = total merged with part, row by row; both have the same rows. Uses total's scratch.
  void (*merge)(const AttentionRows& part, const AttentionRows& total);
  // out[row] = o[row] / l[row], rows of value_dim one after another.
  void (*finish)(const AttentionRows& rows, float* out);
};

extern const AttentionKernels kAttentionScalar;
extern const AttentionKernels kAttentionAvx2;
extern const AttentionKernels kAttentionAvx512;

}  // namespace folio

#endif  // FOLIO_KERNELS_ATTENTION_TILE_H_
