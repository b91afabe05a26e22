// Writing keys and values into the tiles of the cache: layouts in attention.h, rounding in
// docs/design/numerics.md, 'Attention'.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/attention.h"
#include "quant/half.h"

namespace folio {
namespace {

constexpr int kGroup = 32;  // elements of head_dim rounded together
constexpr float kLargestHalf = 65504.0F;
// Below this many elements a call costs less than waking another thread.
constexpr std::int64_t kInlineElements = 16384;

template <typename T>
void Store(std::byte* base, std::int64_t index, T value) {
  std::memcpy(base + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint16_t kNoNumberHalf = 0x7e00;
// The largest numbers that don't round to infinity.
constexpr float kLargestAsBf16 = 0x1.fefffep127F;
constexpr float kLargestAsHalf = 65519.996F;

float LargestStorable(KvType type) {
  if (type == KvType::kBf16) return kLargestAsBf16;
  if (type == KvType::kF16) return kLargestAsHalf;
  return std::numeric_limits<float>::max();
}

// Whether all n elements are numbers as the type has them.
bool IsStorable(KvType type, const float* x, int n) {
  const float largest = LargestStorable(type);
  bool storable = true;
  for (int i = 0; i < n; ++i) storable &= std::fabs(x[i]) <= largest;  // no for NaN
  return storable;
}

// 32 elements as int8 times a float16 scale, which is returned.
std::uint16_t QuantizeGroup(const float* x, std::int8_t* quants) {
  float largest = 0.0F;
  for (int i = 0; i < kGroup; ++i) largest = std::max(largest, std::fabs(x[i]));
  const std::uint16_t scale = FloatToHalf(std::min(largest / 127.0F, kLargestHalf));
  const float inverse = scale == 0 ? 0.0F : 1.0F / HalfToFloat(scale);
  for (int i = 0; i < kGroup; ++i) {
    const float rounded = std::nearbyint(x[i] * inverse);
    quants[i] = static_cast<std::int8_t>(std::clamp(rounded, -127.0F, 127.0F));
  }
  return scale;
}

// Elements [d, d + 32) of token t of a K tile.
void StoreKeyGroup(KvType type, int head_dim, int t, int d, const float* k, std::byte* tile) {
  switch (type) {
    case KvType::kBf16:
      for (int i = 0; i < kGroup; i += 2) {
        const std::uint32_t pair =
            FloatToBf16(k[i]) | static_cast<std::uint32_t>(FloatToBf16(k[i + 1])) << 16;
        Store(tile, (d + i) / 2 * kKvTileTokens + t, pair);
      }
      break;
    case KvType::kF16:
      for (int i = 0; i < kGroup; ++i) Store(tile, (d + i) * kKvTileTokens + t, FloatToHalf(k[i]));
      break;
    case KvType::kF32:
      for (int i = 0; i < kGroup; ++i) Store(tile, (d + i) * kKvTileTokens + t, k[i]);
      break;
    case KvType::kQ8_0: {
      std::int8_t quants[kGroup];
      Store(tile, d / kGroup * kKvTileTokens + t, QuantizeGroup(k, quants));
      for (int i = 0; i < kGroup; ++i)
        Store(tile + head_dim, (d + i) * kKvTileTokens + t, quants[i]);
      break;
    }
  }
}

// The same of a V tile.
void StoreValueGroup(KvType type, int head_dim, int t, int d, const float* v, std::byte* tile) {
  switch (type) {
    case KvType::kBf16:
      for (int i = 0; i < kGroup; ++i)
        Store(tile, (t / 2 * head_dim + d + i) * 2 + t % 2, FloatToBf16(v[i]));
      break;
    case KvType::kF16:
      for (int i = 0; i < kGroup; ++i) Store(tile, t * head_dim + d + i, FloatToHalf(v[i]));
      break;
    case KvType::kF32:
      std::memcpy(tile + (t * head_dim + d) * sizeof(float), v, kGroup * sizeof(float));
      break;
    case KvType::kQ8_0: {
      std::int8_t quants[kGroup];
      Store(tile, (t * head_dim + d) / kGroup, QuantizeGroup(v, quants));
      std::memcpy(tile + head_dim + t * head_dim + d, quants, kGroup);
      break;
    }
  }
}

// Makes token t's key no number and its value zero: what sees it is no number either, what doesn't
// is as if it weren't there.
void StoreNoNumber(const KvView& kv, int t, std::byte* k_tile, std::byte* v_tile) {
  constexpr float kZeros[kGroup] = {};
  for (int d = 0; d < kv.head_dim; d += kGroup) {
    StoreKeyGroup(kv.type, kv.head_dim, t, d, kZeros, k_tile);
    if (kv.latent_dim == 0) StoreValueGroup(kv.type, kv.head_dim, t, d, kZeros, v_tile);
  }
  const int at = kv.latent_dim;  // the first element that is no value
  switch (kv.type) {
    case KvType::kBf16:
      Store(k_tile, (at / 2 * kKvTileTokens + t) * 2, FloatToBf16(kNoNumber));
      break;
    case KvType::kF16:
      Store(k_tile, at * kKvTileTokens + t, kNoNumberHalf);
      break;
    case KvType::kF32:
      Store(k_tile, at * kKvTileTokens + t, kNoNumber);
      break;
    case KvType::kQ8_0:
      Store(k_tile, at / kGroup * kKvTileTokens + t, kNoNumberHalf);
      break;
  }
}

// The rows of one sequence that lie in one 16-token tile.
struct TileRows {
  std::int64_t tile = 0;  // of absolute positions
  std::int64_t row = 0;   // first row of the call
  int token = 0;          // in the tile
  int count = 0;
};

AttentionSequence WithoutStoredRows(AttentionSequence sequence) {
  sequence.first_position += sequence.stored_rows;
  sequence.first_row += sequence.stored_rows;
  sequence.rows -= sequence.stored_rows;
  return sequence;
}

std::int64_t TilesOf(const AttentionSequence& sequence) {
  if (sequence.rows == 0) return 0;
  return (sequence.first_position + sequence.rows - 1) / kKvTileTokens -
         sequence.first_position / kKvTileTokens + 1;
}

TileRows RowsOfTile(const AttentionSequence& sequence, std::int64_t index) {
  const std::int64_t tile = sequence.first_position / kKvTileTokens + index;
  const std::int64_t begin = std::max(sequence.first_position, tile * kKvTileTokens);
  const std::int64_t end =
      std::min(sequence.first_position + sequence.rows, (tile + 1) * kKvTileTokens);
  return {.tile = tile,
          .row = sequence.first_row + begin - sequence.first_position,
          .token = static_cast<int>(begin % kKvTileTokens),
          .count = static_cast<int>(end - begin)};
}

void StoreTile(const KvView& kv, const AttentionSequence& sequence, const TileRows& rows, int head,
               const float* k, const float* v) {
  const std::int64_t tiles_per_block = kv.block_size / kKvTileTokens;
  const auto bytes = static_cast<std::int64_t>(KvTileBytes(kv.type, kv.head_dim));
  std::byte* k_tile = kv.base +
                      sequence.block_table[rows.tile / tiles_per_block] * kv.block_stride +
                      kv.layer_offset + head * kv.head_stride + rows.tile % tiles_per_block * bytes;
  const bool latent = kv.latent_dim != 0;
  std::byte* v_tile = latent ? k_tile : k_tile + kv.v_offset;
  if (rows.token == 0) std::memset(v_tile, 0, static_cast<std::size_t>(bytes));
  for (int i = 0; i < rows.count; ++i) {
    const std::int64_t source = ((rows.row + i) * kv.kv_heads + head) * kv.head_dim;
    const int token = rows.token + i;
    if (!IsStorable(kv.type, k + source, kv.head_dim) ||
        (!latent && !IsStorable(kv.type, v + source, kv.head_dim))) {
      StoreNoNumber(kv, token, k_tile, v_tile);
      continue;
    }
    for (int d = 0; d < kv.head_dim; d += kGroup) {
      StoreKeyGroup(kv.type, kv.head_dim, token, d, k + source + d, k_tile);
      if (!latent) StoreValueGroup(kv.type, kv.head_dim, token, d, v + source + d, v_tile);
    }
  }
}

}  // namespace

void StoreKv(Isa /*isa*/, const KvView& kv, std::span<const AttentionSequence> sequences,
             const float* k, const float* v, ThreadPool& pool) {
  std::int64_t tiles = 0;
  std::int64_t rows = 0;
  for (const AttentionSequence& whole : sequences) {
    const AttentionSequence sequence = WithoutStoredRows(whole);
    tiles += TilesOf(sequence);
    rows += sequence.rows;
  }
  const auto store = [&](std::int64_t unit) {
    std::int64_t index = unit / kv.kv_heads;
    for (const AttentionSequence& whole : sequences) {
      const AttentionSequence sequence = WithoutStoredRows(whole);
      const std::int64_t of_sequence = TilesOf(sequence);
      if (index < of_sequence) {
        StoreTile(kv, sequence, RowsOfTile(sequence, index), static_cast<int>(unit % kv.kv_heads),
                  k, v);
        return;
      }
      index -= of_sequence;
    }
  };
  const std::int64_t units = tiles * kv.kv_heads;
  const bool run_inline = rows * kv.kv_heads * kv.head_dim <= kInlineElements;
  const std::int64_t tasks = run_inline ? 1 : units;
  pool.ParallelFor(tasks, [&](std::int64_t task, int) {
    const std::int64_t end = run_inline ? units : task + 1;
    for (std::int64_t unit = task; unit < end; ++unit) store(unit);
  });
}

}  // namespace folio
