// A tile of attention over vectors: attention_scalar.cc's arithmetic for several query rows at
// once. Scores have tokens in the lanes, outputs elements of head_dim; both are a register block of
// V::kRows rows x 2 vectors of columns, so that each loaded key or value serves several rows (the
// query heads of a group among them). V is Avx2 or Avx512.
#ifndef FOLIO_KERNELS_ATTENTION_SIMD_H_
#define FOLIO_KERNELS_ATTENTION_SIMD_H_

#include <cstddef>
#include <cstdint>

#include "kernels/attention_tile.h"
#include "kernels/exp_simd.h"
#include "kernels/softcap_simd.h"

namespace folio {

template <class V>
class AttentionSimd {
  using Float = typename V::Float;
  static constexpr int kLanes = V::kLanes;
  static constexpr int kTile = 32;
  static constexpr int kHalf = 16;
  static constexpr int kTileVectors = kTile / kLanes;
  static constexpr int kHalfVectors = kHalf / kLanes;
  static constexpr int kColumns = 2 * kLanes;  // of a register block of outputs
  static constexpr float kMinusInfinity = -__builtin_inff();

  // body.template operator()<first, R>(row) for row blocks of [begin, end), R <= kMost each;
  // `first` is true for the one at `begin`.
  template <int kMost, bool kFirst = true, typename Body>
  static void ForRowBlocks(int begin, int end, const Body& body) {
    if (begin + kMost <= end) {
      body.template operator()<kFirst, kMost>(begin);
      for (begin += kMost; begin + kMost <= end; begin += kMost) {
        body.template operator()<false, kMost>(begin);
      }
      if constexpr (kMost > 1) {
        if (begin < end) ForRowBlocks<kMost - 1, false>(begin, end, body);
      }
    } else if constexpr (kMost > 1) {
      ForRowBlocks<kMost - 1, kFirst>(begin, end, body);
    }
  }

  // While a tile's first row block is computed, the next tile comes, line by line: a decode step
  // has no other row block, and reads each tile once from wherever it lies.
  template <bool kFirstBlock>
  static void Prefetch(const std::byte* at) {
    if constexpr (kFirstBlock) __builtin_prefetch(at);
  }

  // ---- Scores ----

  // kVectors vectors of tokens side by side in a row of p.
  template <int kVectors>
  struct Columns {
    const std::byte* tile[kVectors];
    int token[kVectors];           // first token, in its tile
    std::int64_t ahead[kVectors];  // bytes from the tile to the next one
    int column;                    // of p
  };

  template <bool kFirstBlock, int R, int kVectors>
  static void ScoresBf16(const AttentionRows& rows, int row, const Columns<kVectors>& columns) {
    const std::int64_t head_dim = rows.head_dim;
    const float* q = rows.q + row * head_dim;
    Float c[R][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int g = 0; g < kVectors; ++g) c[r][g] = V::Zero();
    }
    for (std::int64_t chunk = 0; chunk < head_dim; chunk += 32) {
      Float even[R][kVectors];
      Float odd[R][kVectors];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int g = 0; g < kVectors; ++g) even[r][g] = odd[r][g] = V::Zero();
      }
      for (std::int64_t d = chunk; d < chunk + 32; d += 2) {
        Float k_even[kVectors];
        Float k_odd[kVectors];
#pragma GCC unroll 2
        for (int g = 0; g < kVectors; ++g) {
          const std::byte* at = columns.tile[g] + (d / 2 * kHalf + columns.token[g]) * 4;
          Prefetch<kFirstBlock>(at + columns.ahead[g]);
          const Float words = V::LoadWords(at);
          k_even[g] = V::LowBf16(words);
          k_odd[g] = V::HighBf16(words);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const Float q_even = V::Set(q[r * head_dim + d]);
          const Float q_odd = V::Set(q[r * head_dim + d + 1]);
#pragma GCC unroll 2
          for (int g = 0; g < kVectors; ++g) {
            even[r][g] = V::Fma(q_even, k_even[g], even[r][g]);
            odd[r][g] = V::Fma(q_odd, k_odd[g], odd[r][g]);
          }
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
        for (int g = 0; g < kVectors; ++g) {
          c[r][g] = V::Add(c[r][g], V::Add(even[r][g], odd[r][g]));
        }
      }
    }
    StoreScores<R, kVectors>(rows, row, columns, c);
  }

  template <KvType kType, bool kFirstBlock, int R, int kVectors>
  static void ScoresF32(const AttentionRows& rows, int row, const Columns<kVectors>& columns) {
    const std::int64_t head_dim = rows.head_dim;
    const float* q = rows.q + row * head_dim;
    Float c[R][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int g = 0; g < kVectors; ++g) c[r][g] = V::Zero();
    }
    for (std::int64_t chunk = 0; chunk < head_dim; chunk += 32) {
      Float scale[kVectors];
#pragma GCC unroll 2
      for (int g = 0; g < kVectors; ++g) {
        scale[g] = KeyScales<kType>(columns.tile[g], chunk / 32 * kHalf + columns.token[g]);
      }
      for (std::int64_t d = chunk; d < chunk + 32; ++d) {
        Float k[kVectors];
#pragma GCC unroll 2
        for (int g = 0; g < kVectors; ++g) {
          k[g] = Elements<kType, kFirstBlock>(columns.tile[g], columns.ahead[g], head_dim,
                                              d * kHalf + columns.token[g], scale[g]);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const Float q_d = V::Set(q[r * head_dim + d]);
#pragma GCC unroll 2
          for (int g = 0; g < kVectors; ++g) c[r][g] = V::Fma(q_d, k[g], c[r][g]);
        }
      }
    }
    StoreScores<R, kVectors>(rows, row, columns, c);
  }

  template <int R, int kVectors>
  static void StoreScores(const AttentionRows& rows, int row, const Columns<kVectors>& columns,
                          const Float (&c)[R][kVectors]) {
    const Float scale = V::Set(rows.scale);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      float* p = rows.p + (row + r) * kTile + columns.column;
#pragma GCC unroll 2
      for (int g = 0; g < kVectors; ++g) V::Store(p + g * kLanes, V::Mul(c[r][g], scale));
    }
  }

  template <KvType kType, int kVectors>
  static void ScoresOfColumns(const AttentionRows& rows, const AttentionTile& tile,
                              const Columns<kVectors>& columns) {
    if constexpr (kType == KvType::kBf16) {
      ForRowBlocks<V::kRows>(tile.row_begin, tile.row_end, [&]<bool kFirstBlock, int R>(int row) {
        ScoresBf16<kFirstBlock, R, kVectors>(rows, row, columns);
      });
    } else {
      ForRowBlocks<2 * V::kRows>(tile.row_begin, tile.row_end,
                                 [&]<bool kFirstBlock, int R>(int row) {
                                   ScoresF32<kType, kFirstBlock, R, kVectors>(rows, row, columns);
                                 });
    }
  }

  template <KvType kType>
  static void Scores(const AttentionRows& rows, const AttentionTile& tile) {
    if constexpr (kHalfVectors == 1) {
      if (tile.k[0] != nullptr && tile.k[1] != nullptr) {
        ScoresOfColumns<kType, 2>(
            rows, tile, {{tile.k[0], tile.k[1]}, {0, 0}, {tile.k_ahead[0], tile.k_ahead[1]}, 0});
        return;
      }
    }
    for (int half = 0; half < 2; ++half) {
      if (tile.k[half] == nullptr) continue;
      Columns<kHalfVectors> columns;
      columns.column = half * kHalf;
      for (int g = 0; g < kHalfVectors; ++g) {
        columns.tile[g] = tile.k[half];
        columns.token[g] = g * kLanes;
        columns.ahead[g] = tile.k_ahead[half];
      }
      ScoresOfColumns<kType, kHalfVectors>(rows, tile, columns);
    }
  }

  // Of keys that no row sees there is nothing to cap: they get -inf.
  static void CapScores(const AttentionRows& rows, const AttentionTile& tile) {
    for (int half = 0; half < 2; ++half) {
      if (tile.k[half] == nullptr) continue;
      for (int row = tile.row_begin; row < tile.row_end; ++row) {
        float* p = rows.p + row * kTile + half * kHalf;
        for (int i = 0; i < kHalf; i += kLanes)
          V::Store(p + i, Softcap<V>(V::Load(p + i), rows.softcap));
      }
    }
  }

  // ---- Softmax: p from scores to weights, m and l brought up to date, corrections in scratch ----

  template <bool kRound>
  static void Softmax(const AttentionRows& rows, const AttentionTile& tile) {
    for (int row = tile.row_begin; row < tile.row_end; row += kLanes) {
      const int left = tile.row_end - row;
      SoftmaxOfRows<kRound>(rows, tile, row, left < kLanes ? left : kLanes);
    }
  }

  // Up to kLanes rows at once: their maxima, corrections and sums are the lanes of a vector.
  template <bool kRound>
  static void SoftmaxOfRows(const AttentionRows& rows, const AttentionTile& tile, int row,
                            int count) {
    Float folded[kLanes];
    for (int r = count; r < kLanes; ++r) folded[r] = V::Zero();
    for (int r = 0; r < count; ++r) {
      folded[r] = V::template Fold32<V::Max>(MaskedScores(rows, tile, row + r).vectors);
    }
    const Float before = V::LoadFirst(rows.m + row, count);
    const Float m = V::Max(before, V::template ReduceRows<V::Max>(folded));
    const Float correction = ExpBelow<V>(V::Sub(before, m));
    V::StoreFirst(rows.m + row, count, m);
    V::StoreFirst(rows.scratch + row, count, correction);
    for (int r = 0; r < count; ++r) {
      float* p = rows.p + (row + r) * kTile;
      const Float largest = V::Set(rows.m[row + r]);
      Float weights[kTileVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; ++j) {
        weights[j] = ExpBelow<V>(V::Sub(V::Load(p + j * kLanes), largest));
        if constexpr (kRound) weights[j] = V::RoundToBf16(weights[j]);
        V::Store(p + j * kLanes, weights[j]);
      }
      folded[r] = V::template Fold32<V::Add>(weights);
    }
    const Float sums = V::template ReduceRows<V::Add>(folded);
    const Float l = V::Add(V::Mul(V::LoadFirst(rows.l + row, count), correction), sums);
    V::StoreFirst(rows.l + row, count, l);
  }

  struct TileRow {
    Float vectors[kTileVectors];
  };

  // A row's scores, -inf for keys that it does not see; written back only where that changes one.
  static TileRow MaskedScores(const AttentionRows& rows, const AttentionTile& tile, int row) {
    float* p = rows.p + row * kTile;
    TileRow scores;
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j) scores.vectors[j] = V::Load(p + j * kLanes);
    const std::int64_t position = rows.first_position + row / rows.group;
    const std::int64_t end = position + 1 - tile.first_position;
    const std::int64_t begin = tile.window == 0 ? 0 : end - tile.window;
    if (begin <= 0 && end >= kTile) return scores;
#pragma GCC unroll 4
    for (int j = 0; j < kTileVectors; ++j) {
      scores.vectors[j] = V::KeepRange(scores.vectors[j], begin - j * kLanes, end - j * kLanes,
                                       V::Set(kMinusInfinity));
      V::Store(p + j * kLanes, scores.vectors[j]);
    }
    return scores;
  }

  // ---- Outputs ----

  template <bool kFirstBlock, int R>
  static void OutputsBf16(const AttentionRows& rows, const AttentionTile& tile, int row,
                          std::int64_t d) {
    const std::int64_t value_dim = rows.value_dim;
    Float even[R][2];
    Float odd[R][2];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      even[r][0] = even[r][1] = odd[r][0] = odd[r][1] = V::Zero();
    }
    for (int half = 0; half < 2; ++half) {
      if (tile.v[half] == nullptr) continue;
      const float* p = rows.p + row * kTile + half * kHalf;
      const std::byte* v = tile.v[half] + d * 4;
      for (int t = 0; t < kHalf; t += 2, v += value_dim * 4) {
        Float v_even[2];
        Float v_odd[2];
#pragma GCC unroll 2
        for (int g = 0; g < 2; ++g) {
          Prefetch<kFirstBlock>(v + g * kLanes * 4 + tile.v_ahead[half]);
          const Float words = V::LoadWords(v + g * kLanes * 4);
          v_even[g] = V::LowBf16(words);
          v_odd[g] = V::HighBf16(words);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const Float p_even = V::Set(p[r * kTile + t]);
          const Float p_odd = V::Set(p[r * kTile + t + 1]);
#pragma GCC unroll 2
          for (int g = 0; g < 2; ++g) {
            even[r][g] = V::Fma(p_even, v_even[g], even[r][g]);
            odd[r][g] = V::Fma(p_odd, v_odd[g], odd[r][g]);
          }
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      float* o = rows.o + (row + r) * value_dim + d;
      const Float correction = V::Set(rows.scratch[row + r]);
#pragma GCC unroll 2
      for (int g = 0; g < 2; ++g) {
        const Float scaled = V::Mul(V::Load(o + g * kLanes), correction);
        V::Store(o + g * kLanes, V::Add(scaled, V::Add(even[r][g], odd[r][g])));
      }
    }
  }

  template <KvType kType, bool kFirstBlock, int R>
  static void OutputsF32(const AttentionRows& rows, const AttentionTile& tile, int row,
                         std::int64_t d) {
    const std::int64_t value_dim = rows.value_dim;
    float* o = rows.o + row * value_dim + d;
    Float chain[R][2];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Float correction = V::Set(rows.scratch[row + r]);
#pragma GCC unroll 2
      for (int g = 0; g < 2; ++g) {
        chain[r][g] = V::Mul(V::Load(o + r * value_dim + g * kLanes), correction);
      }
    }
    for (int half = 0; half < 2; ++half) {
      if (tile.v[half] == nullptr) continue;
      const float* p = rows.p + row * kTile + half * kHalf;
      for (int t = 0; t < kHalf; ++t) {
        Float v[2];
        const Float scale = ValueScale<kType>(tile.v[half], t * (value_dim / 32) + d / 32);
#pragma GCC unroll 2
        for (int g = 0; g < 2; ++g) {
          v[g] = Elements<kType, kFirstBlock>(tile.v[half], tile.v_ahead[half], value_dim,
                                              t * value_dim + d + g * kLanes, scale);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const Float weight = V::Set(p[r * kTile + t]);
#pragma GCC unroll 2
          for (int g = 0; g < 2; ++g) chain[r][g] = V::Fma(weight, v[g], chain[r][g]);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int g = 0; g < 2; ++g) V::Store(o + r * value_dim + g * kLanes, chain[r][g]);
    }
  }

  template <KvType kType>
  static void Outputs(const AttentionRows& rows, const AttentionTile& tile) {
    for (std::int64_t d = 0; d < rows.value_dim; d += kColumns) {
      if constexpr (kType == KvType::kBf16) {
        ForRowBlocks<V::kRows>(tile.row_begin, tile.row_end, [&]<bool kFirstBlock, int R>(int row) {
          OutputsBf16<kFirstBlock, R>(rows, tile, row, d);
        });
      } else {
        ForRowBlocks<2 * V::kRows>(tile.row_begin, tile.row_end,
                                   [&]<bool kFirstBlock, int R>(int row) {
                                     OutputsF32<kType, kFirstBlock, R>(rows, tile, row, d);
                                   });
      }
    }
  }

  // ---- Stored elements of the f32 definition ----

  // kLanes elements from `index` on; q8_0's quants follow `dim` (the head's) bytes of scales.
  template <KvType kType, bool kFirstBlock>
  static Float Elements(const std::byte* tile, std::int64_t ahead, std::int64_t dim,
                        std::int64_t index, Float scale) {
    const std::byte* at = kType == KvType::kQ8_0  ? tile + dim + index
                          : kType == KvType::kF16 ? tile + index * 2
                                                  : tile + index * 4;
    Prefetch<kFirstBlock>(at + ahead);
    if constexpr (kType == KvType::kQ8_0) return V::Mul(V::LoadInt8(at), scale);
    if constexpr (kType == KvType::kF16) return V::LoadHalf(at);
    return V::LoadWords(at);
  }

  template <KvType kType>
  static Float KeyScales(const std::byte* tile, std::int64_t index) {
    if constexpr (kType == KvType::kQ8_0) return V::LoadHalf(tile + index * 2);
    return V::Zero();  // not read
  }

  template <KvType kType>
  static Float ValueScale(const std::byte* tile, std::int64_t index) {
    if constexpr (kType == KvType::kQ8_0) {
      return V::SetHalf(tile + index * 2);
    }
    return V::Zero();  // not read
  }

  // ---- The kernels ----

  template <KvType kType>
  static void Step(const AttentionRows& rows, const AttentionTile& tile) {
    Scores<kType>(rows, tile);
    if (rows.softcap != 0.0F) CapScores(rows, tile);
    Softmax<kType == KvType::kBf16>(rows, tile);
    Outputs<kType>(rows, tile);
  }

  static void TileStep(KvType type, const AttentionRows& rows, const AttentionTile& tile) {
    switch (type) {
      case KvType::kBf16:
        return Step<KvType::kBf16>(rows, tile);
      case KvType::kF16:
        return Step<KvType::kF16>(rows, tile);
      case KvType::kF32:
        return Step<KvType::kF32>(rows, tile);
      case KvType::kQ8_0:
        return Step<KvType::kQ8_0>(rows, tile);
    }
  }

  // n is a multiple of 32, as head_dim is.
  static void LoadQueries(bool round, const float* q, std::int64_t n, float* out) {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Float x = V::Load(q + i);
      V::Store(out + i, round ? V::RoundAnyToBf16(x) : x);
    }
  }

  static float Exp1(float x) { return V::Lane0(ExpBelow<V>(V::Set(x))); }

  static void Merge(const AttentionRows& part, const AttentionRows& total) {
    const std::int64_t value_dim = part.value_dim;
    for (int row = 0; row < part.rows; ++row) {
      if (part.l[row] == 0.0F) continue;
      const float* o_part = part.o + row * value_dim;
      float* o_total = total.o + row * value_dim;
      if (total.l[row] == 0.0F) {
        total.m[row] = part.m[row];
        total.l[row] = part.l[row];
        for (std::int64_t d = 0; d < value_dim; ++d) o_total[d] = o_part[d];
        continue;
      }
      const float m = total.m[row] > part.m[row] ? total.m[row] : part.m[row];
      const Float a = V::Set(Exp1(total.m[row] - m));
      const Float b = V::Set(Exp1(part.m[row] - m));
      total.m[row] = m;
      total.l[row] = V::Lane0(V::Fma(V::Set(part.l[row]), b, V::Mul(V::Set(total.l[row]), a)));
      for (std::int64_t d = 0; d < value_dim; d += kLanes) {
        const Float scaled = V::Mul(V::Load(o_total + d), a);
        V::Store(o_total + d, V::Fma(V::Load(o_part + d), b, scaled));
      }
    }
  }

  static void Finish(const AttentionRows& rows, float* out) {
    const std::int64_t value_dim = rows.value_dim;
    for (int row = 0; row < rows.rows; ++row) {
      const Float inverse = V::Set(1.0F / rows.l[row]);
      for (std::int64_t d = 0; d < value_dim; d += kLanes) {
        V::Store(out + row * value_dim + d,
                 V::Fma(V::Load(rows.o + row * value_dim + d), inverse, V::Zero()));
      }
    }
  }

 public:
  static constexpr AttentionKernels Kernels() {
    return {
        .load_queries = LoadQueries,
        .tile_step = TileStep,
        .merge = Merge,
        .finish = Finish,
    };
  }
};

}  // namespace folio

#endif  // FOLIO_KERNELS_ATTENTION_SIMD_H_
