// The reference of attention: docs/design/numerics.md, 'Attention'. One row at a time, every
// rounding in the order of the definition.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/attention_tile.h"
#include "kernels/exp.h"
#include "kernels/softcap.h"
#include "quant/half.h"

namespace folio {
namespace {

constexpr int kTile = 32;
constexpr int kHalf = 16;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

template <typename T>
T Load(const std::byte* base, std::int64_t index) {
  T value;
  std::memcpy(&value, base + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Element d of token t of a K tile.
float KeyAt(KvType type, const std::byte* tile, int head_dim, int t, int d) {
  switch (type) {
    case KvType::kBf16:
      return Bf16ToFloat(Load<std::uint16_t>(tile, (d / 2 * kHalf + t) * 2 + d % 2));
    case KvType::kF16:
      return HalfToFloat(Load<std::uint16_t>(tile, d * kHalf + t));
    case KvType::kF32:
      return Load<float>(tile, d * kHalf + t);
    case KvType::kQ8_0:
      break;
  }
  const float scale = HalfToFloat(Load<std::uint16_t>(tile, d / 32 * kHalf + t));
  const std::byte* quants = tile + head_dim;  // after head_dim / 32 * 16 scales of two bytes
  return static_cast<float>(Load<std::int8_t>(quants, d * kHalf + t)) * scale;
}

// Element d of token t of a V tile.
float ValueAt(KvType type, const std::byte* tile, int value_dim, int t, int d) {
  switch (type) {
    case KvType::kBf16:
      return Bf16ToFloat(Load<std::uint16_t>(tile, (t / 2 * value_dim + d) * 2 + t % 2));
    case KvType::kF16:
      return HalfToFloat(Load<std::uint16_t>(tile, t * value_dim + d));
    case KvType::kF32:
      return Load<float>(tile, t * value_dim + d);
    case KvType::kQ8_0:
      break;
  }
  const float scale = HalfToFloat(Load<std::uint16_t>(tile, t * (value_dim / 32) + d / 32));
  const std::byte* quants = tile + value_dim;
  return static_cast<float>(Load<std::int8_t>(quants, t * value_dim + d)) * scale;
}

float Score(KvType type, const float* q, const std::byte* tile, int head_dim, int t) {
  float c = 0.0F;
  if (type != KvType::kBf16) {
    for (int d = 0; d < head_dim; ++d) c = std::fma(q[d], KeyAt(type, tile, head_dim, t, d), c);
    return c;
  }
  for (int chunk = 0; chunk < head_dim; chunk += 32) {
    float even = 0.0F;
    float odd = 0.0F;
    for (int d = chunk; d < chunk + 32; d += 2) {
      even = std::fma(q[d], KeyAt(type, tile, head_dim, t, d), even);
      odd = std::fma(q[d + 1], KeyAt(type, tile, head_dim, t, d + 1), odd);
    }
    c += even + odd;
  }
  return c;
}

float CappedScore(KvType type, const AttentionRows& rows, const float* q, const std::byte* tile,
                  int t) {
  const float score = Score(type, q, tile, rows.head_dim, t) * rows.scale;
  return rows.softcap == 0.0F ? score : Softcap(score, rows.softcap);
}

// o = o * correction + sum over the tile of p[t] * v[t], for element d.
float Weighted(KvType type, const AttentionTile& tile, const float* p, int value_dim, int d,
               float o, float correction) {
  float even = 0.0F;
  float odd = 0.0F;
  float chain = o * correction;
  for (int t = 0; t < kTile; ++t) {
    const std::byte* half = tile.v[t / kHalf];
    if (half == nullptr) continue;
    const float v = ValueAt(type, half, value_dim, t % kHalf, d);
    if (type != KvType::kBf16) {
      chain = std::fma(p[t], v, chain);
    } else if (t % 2 == 0) {
      even = std::fma(p[t], v, even);
    } else {
      odd = std::fma(p[t], v, odd);
    }
  }
  return type == KvType::kBf16 ? chain + (even + odd) : chain;
}

float TreeSum(const float* p) {
  float t[kHalf];
  for (int i = 0; i < kHalf; ++i) t[i] = p[i] + p[i + kHalf];
  for (int step = kHalf / 2; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) t[i] += t[i + step];
  }
  return t[0];
}

void StepRow(KvType type, const AttentionRows& rows, const AttentionTile& tile, int row) {
  const int head_dim = rows.head_dim;
  const float* q = rows.q + static_cast<std::int64_t>(row) * head_dim;
  float* p = rows.p + static_cast<std::int64_t>(row) * kTile;
  float* o = rows.o + static_cast<std::int64_t>(row) * rows.value_dim;
  const std::int64_t position = rows.first_position + row / rows.group;
  float m = rows.m[row];
  for (int t = 0; t < kTile; ++t) {
    const std::int64_t key = tile.first_position + t;
    const bool seen = key <= position && (tile.window == 0 || key > position - tile.window);
    p[t] = seen ? CappedScore(type, rows, q, tile.k[t / kHalf], t % kHalf) : kMinusInfinity;
    m = std::max(m, p[t]);
  }
  for (int t = 0; t < kTile; ++t) {
    p[t] = Exp(p[t] - m);
    if (type == KvType::kBf16) p[t] = Bf16ToFloat(FloatToBf16(p[t]));
  }
  const float correction = Exp(rows.m[row] - m);
  rows.m[row] = m;
  rows.l[row] = rows.l[row] * correction + TreeSum(p);
  for (int d = 0; d < rows.value_dim; ++d) {
    o[d] = Weighted(type, tile, p, rows.value_dim, d, o[d], correction);
  }
}

void TileStepScalar(KvType type, const AttentionRows& rows, const AttentionTile& tile) {
  for (int row = tile.row_begin; row < tile.row_end; ++row) StepRow(type, rows, tile, row);
}

void LoadQueriesScalar(bool round, const float* q, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = round ? Bf16ToFloat(FloatToBf16(q[i])) : q[i];
}

void MergeScalar(const AttentionRows& part, const AttentionRows& total) {
  const int value_dim = part.value_dim;
  for (int row = 0; row < part.rows; ++row) {
    if (part.l[row] == 0.0F) continue;
    const float* o_part = part.o + static_cast<std::int64_t>(row) * value_dim;
    float* o_total = total.o + static_cast<std::int64_t>(row) * value_dim;
    if (total.l[row] == 0.0F) {
      total.m[row] = part.m[row];
      total.l[row] = part.l[row];
      std::copy_n(o_part, value_dim, o_total);
      continue;
    }
    const float m = std::max(total.m[row], part.m[row]);
    const float a = Exp(total.m[row] - m);
    const float b = Exp(part.m[row] - m);
    total.m[row] = m;
    total.l[row] = std::fma(part.l[row], b, total.l[row] * a);
    for (int d = 0; d < value_dim; ++d) o_total[d] = std::fma(o_part[d], b, o_total[d] * a);
  }
}

void FinishScalar(const AttentionRows& rows, float* out) {
  for (int row = 0; row < rows.rows; ++row) {
    const float inverse = 1.0F / rows.l[row];
    const std::int64_t start = static_cast<std::int64_t>(row) * rows.value_dim;
    for (int d = 0; d < rows.value_dim; ++d) {
      out[start + d] = std::fma(rows.o[start + d], inverse, 0.0F);
    }
  }
}

}  // namespace

const AttentionKernels kAttentionScalar = {
    .load_queries = LoadQueriesScalar,
    .tile_step = TileStepScalar,
    .merge = MergeScalar,
    .finish = FinishScalar,
};

}  // namespace folio
