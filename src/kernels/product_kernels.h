// The products of one slice for any vector width. V is the vector class of one ISA, in its file's
// unnamed namespace, so every function here is instantiated inside that file.
//
// Two ways through a quantised matrix, of the same bits:
//
//   few rows   weights go from memory to registers and are used at once, by as many rows as have
//              their sums in registers (V::kFewRows): with few rows what limits it is reading
//              weights, so what to read soon is prefetched at two distances. Where a whole tile of
//              rows fits the registers, more tiles take the strip in turn, from the caches.
//   many rows  where it doesn't: a slab (8 blocks of k, two registers of output rows) is unpacked
//              once into the first cache and multiplied with every row of the slice; partial sums
//              wait in a buffer.
#ifndef FOLIO_KERNELS_PRODUCT_KERNELS_H_
#define FOLIO_KERNELS_PRODUCT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/activations.h"
#include "kernels/packed_layout.h"
#include "kernels/product_slice.h"
#include "kernels/product_weights.h"

namespace folio {

constexpr int kSlabBlocks = 8;
constexpr int kSlabVectors = 2;

// Measured on Sapphire Rapids: far into the second cache, near into the first. With the near one
// alone a core reads a sixth less.
constexpr std::int64_t kFarPrefetch = 16384;
constexpr std::int64_t kNearPrefetch = 2048;

template <class V>
[[gnu::always_inline]] inline void PrefetchAhead(const std::byte* at, std::int64_t bytes) {
  for (std::int64_t line = 0; line < bytes; line += 64) {
    V::PrefetchFar(at + kFarPrefetch + line);
    V::PrefetchNear(at + kNearPrefetch + line);
  }
}

// acc = fma(float(dot), sa * s, acc), then the offset: the order that the definition states.
template <class V, bool kMinimum>
[[gnu::always_inline]] inline typename V::Float AddGroup(typename V::Int dot,
                                                         typename V::Float scale,
                                                         typename V::Float minimum, const float* sa,
                                                         const float* sum, typename V::Float acc) {
  const typename V::Float factor = V::BroadcastFloat(sa);
  acc = V::Fma(V::ToFloat(dot), V::Mul(factor, scale), acc);
  if constexpr (kMinimum) acc = V::Fma(V::BroadcastFloat(sum), V::Mul(factor, minimum), acc);
  return acc;
}

static inline const float* GroupSum(const BlockFactors& factors, int groups, int group) {
  return groups == 1 ? &factors.sum : &factors.half_sum[group];
}

// ---- Few rows ----

// Adds one record's block to the accumulators of kRows rows, for the lanes from `lane`. Loops over
// rows are written out: gcc 12 else keeps sums in memory and clears them with `rep stos`.
template <class V, GgmlType kType, int kRows>
[[gnu::always_inline]] inline void AddBlock(const std::byte* record, int lane,
                                            const typename V::Float* scales,
                                            const typename V::Float* minima,
                                            const std::int16_t* values, const BlockFactors* factors,
                                            typename V::Float* acc) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  constexpr int kChunks = 4 / kFormat.groups;
  constexpr int kChains = kRows == 1 ? 2 : 1;  // a single chain of 16 additions would be waited for
  Unroll<kFormat.groups>([&](auto group) __attribute__((always_inline)) {
    constexpr int kGroup = decltype(group)::value;
    typename V::Int dots[kRows][kChains];
    Unroll<kRows * kChains>([&](auto i) __attribute__((always_inline)) {
      dots[decltype(i)::value / kChains][decltype(i)::value % kChains] = V::Zero();
    });
    Unroll<kChunks>([&](auto chunk) __attribute__((always_inline)) {
      constexpr int kChunk = kGroup * kChunks + decltype(chunk)::value;
      typename V::Int words[4];
      LoadWords<V, kType, kChunk>(record, lane, words);
      Unroll<4 * kRows>([&](auto i) __attribute__((always_inline)) {
        constexpr int kPair = decltype(i)::value / kRows;
        constexpr int kRow = decltype(i)::value % kRows;
        auto& dot = dots[kRow][kPair % kChains];
        dot = V::DotAdd(dot, words[kPair],
                        V::BroadcastPair(values + kRow * 32 + (kChunk * 4 + kPair) * 2));
      });
    });
    Unroll<kRows>([&](auto row) __attribute__((always_inline)) {
      constexpr int kRow = decltype(row)::value;
      typename V::Int dot = dots[kRow][0];
      if constexpr (kChains == 2) dot = V::Add32(dot, dots[kRow][1]);
      acc[kRow] = AddGroup<V, kFormat.has_minimum>(
          dot, scales[kGroup], minima[kGroup], &factors[kRow].scale,
          GroupSum(factors[kRow], kFormat.groups, kGroup), acc[kRow]);
    });
  });
}

// Stores what there is of 16 output rows: `outputs` may be short of a whole strip.
template <class V>
[[gnu::always_inline]] inline void StoreLanes(float* y, int lane, std::int64_t outputs,
                                              typename V::Float value) {
  const std::int64_t count = outputs - lane;
  if (count >= V::kWidth) {
    V::StoreFloats(y + lane, value);
  } else if (count > 0) {
    V::StoreFirst(y + lane, value, static_cast<int>(count));
  }
}

// One strip times the kRows rows of the tile that starts at `row`.
template <class V, GgmlType kType, int kRows>
void MultiplyStripByTile(const ProductSlice& slice, std::int64_t strip, std::int64_t row) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  constexpr int kParts = kLanes / V::kWidth;
  const std::int64_t units = slice.k / (kFormat.unit_blocks * kBlockElements);
  const ActivationTile tile =
      LocateTile(slice.activations, slice.rows, slice.k / kBlockElements, row);
  const std::byte* packed = slice.strips + strip * slice.strip_bytes;
  typename V::Float acc[kParts][kRows];
  Unroll<kParts * kRows>([&](auto i) __attribute__((always_inline)) {
    acc[decltype(i)::value / kRows][decltype(i)::value % kRows] = V::ZeroFloat();
  });
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const std::byte* head = packed + HeadOffset(kFormat, unit);
    const std::byte* body = packed + BodyOffset(kFormat, unit);
    UnitScales<V, kType> scales[kParts];
    for (int part = 0; part < kParts; ++part) scales[part].Load(head, body, part * V::kWidth);
    constexpr int kBlockShare = UnitBytes(kFormat) / kFormat.unit_blocks;
    for (int block = 0; block < kFormat.unit_blocks; ++block) {
      PrefetchAhead<V>(packed + unit * UnitBytes(kFormat) + block * kBlockShare, kBlockShare);
      const std::byte* record = body + kFormat.scale_bytes + block * BlockBytes(kFormat);
      const std::int64_t at = (unit * kFormat.unit_blocks + block) * kRows;
      Unroll<kParts>([&](auto part) __attribute__((always_inline)) {
        constexpr int kPart = decltype(part)::value;
        AddBlock<V, kType, kRows>(record, kPart * V::kWidth, scales[kPart].scales[block],
                                  scales[kPart].minima[kFormat.has_minimum ? block : 0],
                                  tile.values + at * 32, tile.factors + at, acc[kPart]);
      });
    }
  }
  const std::int64_t outputs = slice.n - strip * kLanes;
  Unroll<kRows>([&](auto i) __attribute__((always_inline)) {
    constexpr int kRow = decltype(i)::value;
    float* y = slice.y + (row + kRow) * slice.ldy + strip * kLanes;
    Unroll<kParts>([&](auto part) __attribute__((always_inline)) {
      constexpr int kPart = decltype(part)::value;
      StoreLanes<V>(y, kPart * V::kWidth, outputs, acc[kPart][kRow]);
    });
  });
}

// One strip times the tile that starts at `row`, of 1 to kMost rows.
template <class V, GgmlType kType, int kMost>
void MultiplyStripByRows(const ProductSlice& slice, std::int64_t strip, std::int64_t row,
                         std::int64_t rows) {
  if constexpr (kMost > 1) {
    if (rows < kMost) return MultiplyStripByRows<V, kType, kMost - 1>(slice, strip, row, rows);
  }
  MultiplyStripByTile<V, kType, kMost>(slice, strip, row);
}

template <class V, GgmlType kType>
void MultiplyFewRows(const ProductSlice& slice) {
  for (std::int64_t strip = slice.strip_begin; strip < slice.strip_end; ++strip) {
    for (std::int64_t row = slice.row_begin; row < slice.row_end; row += kTileRows) {
      const std::int64_t left = slice.row_end - row;
      MultiplyStripByRows<V, kType, V::kFewRows>(slice, strip, row,
                                                 left < kTileRows ? left : kTileRows);
    }
  }
}

// ---- Many rows ----

// Unpacked weights: kSlabBlocks blocks of k for two registers of output rows ("columns").
template <class V>
struct Slab {
  static constexpr int kColumns = kSlabVectors * V::kWidth;
  alignas(64) std::int16_t words[kSlabBlocks][16][kColumns][2];
  alignas(64) float scales[kSlabBlocks][2][kColumns];
  alignas(64) float minima[kSlabBlocks][2][kColumns];
};

// Unpacks a record and its scales into the slab's block `to`, for one register of columns.
template <class V, GgmlType kType>
[[gnu::always_inline]] inline void FillBlock(const std::byte* record, int lane, int column, int to,
                                             const typename V::Float* scales,
                                             const typename V::Float* minima, Slab<V>* slab) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  Unroll<4>([&](auto chunk) __attribute__((always_inline)) {
    constexpr int kChunk = decltype(chunk)::value;
    typename V::Int words[4];
    LoadWords<V, kType, kChunk>(record, lane, words);
    for (int pair = 0; pair < 4; ++pair)
      V::Store(slab->words[to][kChunk * 4 + pair][column], words[pair]);
  });
  for (int group = 0; group < kFormat.groups; ++group) {
    V::StoreFloats(slab->scales[to][group] + column, scales[group]);
    if constexpr (kFormat.has_minimum)
      V::StoreFloats(slab->minima[to][group] + column, minima[group]);
  }
}

// Fills the slab with `blocks` blocks from block `first` (a multiple of the unit's blocks).
template <class V, GgmlType kType>
void FillSlab(const std::byte* strips, std::int64_t strip_bytes, std::int64_t first, int blocks,
              int vectors, Slab<V>* slab) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  for (int vector = 0; vector < vectors; ++vector) {
    const int column = vector * V::kWidth;
    const int lane = column % kLanes;
    const std::byte* packed = strips + column / kLanes * strip_bytes;
    for (int to = 0; to < blocks; to += kFormat.unit_blocks) {
      const std::int64_t unit = (first + to) / kFormat.unit_blocks;
      if (lane == 0) PrefetchAhead<V>(packed + unit * UnitBytes(kFormat), UnitBytes(kFormat));
      const std::byte* head = packed + HeadOffset(kFormat, unit);
      const std::byte* body = packed + BodyOffset(kFormat, unit);
      UnitScales<V, kType> scales;
      scales.Load(head, body, lane);
      for (int block = 0; block < kFormat.unit_blocks; ++block) {
        FillBlock<V, kType>(body + kFormat.scale_bytes + block * BlockBytes(kFormat), lane, column,
                            to + block, scales.scales[block],
                            scales.minima[kFormat.has_minimum ? block : 0], slab);
      }
    }
  }
}

// One block's group for kRows rows. Pairs of k are a loop: written out, gcc 12 spills AVX2's sums.
template <class V, int kVectors, int kPairs, bool kMinimum, int kRows>
[[gnu::always_inline]] inline void AddSlabGroup(const std::int16_t (*words)[Slab<V>::kColumns][2],
                                                const float* scales, const float* minima,
                                                const std::int16_t* values,
                                                const BlockFactors* factors, int group,
                                                float* acc) {
  typename V::Int dots[kRows][kVectors];
  Unroll<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
    dots[decltype(i)::value / kVectors][decltype(i)::value % kVectors] = V::Zero();
  });
  for (int at = 0; at < kPairs; ++at) {
    typename V::Int weights[kVectors];
    Unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
      weights[decltype(v)::value] = V::Load(words[at][decltype(v)::value * V::kWidth]);
    });
    Unroll<kRows>([&](auto row) __attribute__((always_inline)) {
      constexpr int kRow = decltype(row)::value;
      const typename V::Int x = V::BroadcastPair(values + kRow * 32 + at * 2);
      Unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
        auto& dot = dots[kRow][decltype(v)::value];
        dot = V::DotAdd(dot, weights[decltype(v)::value], x);
      });
    });
  }
  Unroll<kRows * kVectors>([&](auto i) __attribute__((always_inline)) {
    constexpr int kRow = decltype(i)::value / kVectors;
    constexpr int kVector = decltype(i)::value % kVectors;
    constexpr int kColumn = kVector * V::kWidth;
    float* sum = acc + kRow * Slab<V>::kColumns + kColumn;
    typename V::Float minimum = V::ZeroFloat();
    if constexpr (kMinimum) minimum = V::LoadFloats(minima + kColumn);
    V::StoreFloats(sum, AddGroup<V, kMinimum>(dots[kRow][kVector], V::LoadFloats(scales + kColumn),
                                              minimum, &factors[kRow].scale,
                                              GroupSum(factors[kRow], 16 / kPairs, group),
                                              V::LoadFloats(sum)));
  });
}

// kRows rows times the slab: adds to acc [row][column]. `values` and `factors` are the first row's
// first block; `tile_rows` rows lie side by side in a block.
template <class V, int kVectors, int kGroups, bool kMinimum, int kRows>
void MultiplySlab(const Slab<V>& slab, int blocks, const std::int16_t* values,
                  const BlockFactors* factors, std::int64_t tile_rows, float* acc) {
  constexpr int kPairs = 16 / kGroups;
  for (int block = 0; block < blocks; ++block) {
    for (int group = 0; group < kGroups; ++group) {
      AddSlabGroup<V, kVectors, kPairs, kMinimum, kRows>(
          slab.words[block] + group * kPairs, slab.scales[block][group], slab.minima[block][group],
          values + group * kPairs * 2, factors, group, acc);
    }
    values += tile_rows * 32;
    factors += tile_rows;
  }
}

// `rows` rows of a tile, in register tiles of kRows rows and then of half as many.
template <class V, int kVectors, int kGroups, bool kMinimum, int kRows = V::kMicroRows>
void MultiplySlabRows(const Slab<V>& slab, int blocks, const std::int16_t* values,
                      const BlockFactors* factors, std::int64_t tile_rows, std::int64_t rows,
                      float* acc) {
  std::int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    MultiplySlab<V, kVectors, kGroups, kMinimum, kRows>(
        slab, blocks, values + row * 32, factors + row, tile_rows, acc + row * Slab<V>::kColumns);
  }
  if constexpr (kRows > 1) {
    if (row < rows) {
      MultiplySlabRows<V, kVectors, kGroups, kMinimum, kRows / 2>(
          slab, blocks, values + row * 32, factors + row, tile_rows, rows - row,
          acc + row * Slab<V>::kColumns);
    }
  }
}

// All rows of the slice times the slab of blocks [first, first + blocks).
template <class V, int kVectors, int kGroups, bool kMinimum>
void MultiplySlabAllRows(const ProductSlice& slice, const Slab<V>& slab, std::int64_t first,
                         int blocks, float* acc) {
  for (std::int64_t row = slice.row_begin; row < slice.row_end; row += kTileRows) {
    const ActivationTile tile =
        LocateTile(slice.activations, slice.rows, slice.k / kBlockElements, row);
    const std::int64_t at = first * tile.rows;
    MultiplySlabRows<V, kVectors, kGroups, kMinimum>(
        slab, blocks, tile.values + at * 32, tile.factors + at, tile.rows, tile.rows,
        acc + (row - slice.row_begin) * Slab<V>::kColumns);
  }
}

// The output rows of kVectors registers, from strip `strip` on.
template <class V, GgmlType kType, int kVectors>
void MultiplyColumns(const ProductSlice& slice, std::int64_t strip) {
  constexpr PackedFormat kFormat = *FindPackedFormat(kType);
  Slab<V> slab;
  alignas(64) float acc[kMaxSliceRows * Slab<V>::kColumns];
  const std::int64_t rows = slice.row_end - slice.row_begin;
  for (std::int64_t i = 0; i < rows * Slab<V>::kColumns; i += V::kWidth)
    V::StoreFloats(acc + i, V::ZeroFloat());
  const std::byte* packed = slice.strips + strip * slice.strip_bytes;
  const std::int64_t all = slice.k / kBlockElements;
  for (std::int64_t first = 0; first < all; first += kSlabBlocks) {
    const int blocks = static_cast<int>(all - first < kSlabBlocks ? all - first : kSlabBlocks);
    FillSlab<V, kType>(packed, slice.strip_bytes, first, blocks, kVectors, &slab);
    MultiplySlabAllRows<V, kVectors, kFormat.groups, kFormat.has_minimum>(slice, slab, first,
                                                                          blocks, acc);
  }
  const std::int64_t outputs = slice.n - strip * kLanes;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* y = slice.y + (slice.row_begin + row) * slice.ldy + strip * kLanes;
    for (int v = 0; v < kVectors; ++v) {
      const int column = v * V::kWidth;
      StoreLanes<V>(y, column, outputs, V::LoadFloats(acc + row * Slab<V>::kColumns + column));
    }
  }
}

template <class V, GgmlType kType>
void MultiplyManyRows(const ProductSlice& slice) {
  constexpr int kStrips = kSlabVectors * V::kWidth / kLanes;
  std::int64_t strip = slice.strip_begin;
  for (; strip + kStrips <= slice.strip_end; strip += kStrips)
    MultiplyColumns<V, kType, kSlabVectors>(slice, strip);
  if (strip < slice.strip_end) MultiplyColumns<V, kType, kLanes / V::kWidth>(slice, strip);
}

template <class V, GgmlType kType>
void MultiplyQuantised(const ProductSlice& slice) {
  constexpr bool kTileInRegisters = V::kFewRows == kTileRows;
  if (kTileInRegisters || slice.row_end - slice.row_begin <= V::kFewRows)
    return MultiplyFewRows<V, kType>(slice);
  if constexpr (!kTileInRegisters) MultiplyManyRows<V, kType>(slice);
}

// ---- Float weights ----

// kRows rows times kVectors registers of output rows, all of k: one chain of fused additions each.
template <class V, GgmlType kType, int kVectors, int kRows>
void MultiplyFloatTile(const ProductSlice& slice, std::int64_t strip, std::int64_t row) {
  const std::int64_t size = kType == GgmlType::kF32 ? 4 : 2;
  const std::byte* packed = slice.strips + strip * slice.strip_bytes;
  const float* x = slice.x + row * slice.k;
  typename V::Float acc[kRows][kVectors];
  for (auto& sums : acc) {
    for (auto& sum : sums) sum = V::ZeroFloat();
  }
  for (std::int64_t k = 0; k < slice.k; ++k) {
    typename V::Float weights[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const int column = v * V::kWidth;
      const std::byte* at =
          packed + column / kLanes * slice.strip_bytes + (k * kLanes + column % kLanes) * size;
      V::PrefetchNear(at + kNearPrefetch);
      if constexpr (kType == GgmlType::kF32) {
        weights[v] = V::LoadFloats(reinterpret_cast<const float*>(at));
      } else if constexpr (kType == GgmlType::kF16) {
        weights[v] = V::LoadHalves(at);
      } else {
        weights[v] = V::AsFloat(V::template ShiftLeft32<16>(V::LoadUnsigned16(at)));
      }
    }
    Unroll<kRows>([&](auto r) __attribute__((always_inline)) {
      constexpr int kRow = decltype(r)::value;
      const typename V::Float value = V::BroadcastFloat(x + kRow * slice.k + k);
      for (int v = 0; v < kVectors; ++v) acc[kRow][v] = V::Fma(weights[v], value, acc[kRow][v]);
    });
  }
  for (int r = 0; r < kRows; ++r) {
    float* y = slice.y + (row + r) * slice.ldy + strip * kLanes;
    for (int v = 0; v < kVectors; ++v)
      StoreLanes<V>(y, v * V::kWidth, slice.n - strip * kLanes, acc[r][v]);
  }
}

// Rows [row, slice.row_end) in register tiles of kRows rows and then of half as many.
template <class V, GgmlType kType, int kVectors, int kRows = V::kMicroRows>
void MultiplyFloatRows(const ProductSlice& slice, std::int64_t strip, std::int64_t row) {
  for (; row + kRows <= slice.row_end; row += kRows)
    MultiplyFloatTile<V, kType, kVectors, kRows>(slice, strip, row);
  if constexpr (kRows > 1) {
    if (row < slice.row_end) MultiplyFloatRows<V, kType, kVectors, kRows / 2>(slice, strip, row);
  }
}

template <class V, GgmlType kType>
void MultiplyFloats(const ProductSlice& slice) {
  constexpr int kStrips = kSlabVectors * V::kWidth / kLanes;
  for (std::int64_t strip = slice.strip_begin; strip < slice.strip_end; strip += kStrips) {
    if (strip + kStrips <= slice.strip_end) {
      MultiplyFloatRows<V, kType, kSlabVectors>(slice, strip, slice.row_begin);
    } else {
      MultiplyFloatRows<V, kType, kLanes / V::kWidth>(slice, strip, slice.row_begin);
    }
  }
}

template <class V>
void MultiplySlice(const ProductSlice& slice) {
  switch (slice.type) {
    case GgmlType::kF32:
      return MultiplyFloats<V, GgmlType::kF32>(slice);
    case GgmlType::kF16:
      return MultiplyFloats<V, GgmlType::kF16>(slice);
    case GgmlType::kBF16:
      return MultiplyFloats<V, GgmlType::kBF16>(slice);
    case GgmlType::kQ4_0:
      return MultiplyQuantised<V, GgmlType::kQ4_0>(slice);
    case GgmlType::kQ4_1:
      return MultiplyQuantised<V, GgmlType::kQ4_1>(slice);
    case GgmlType::kQ5_0:
      return MultiplyQuantised<V, GgmlType::kQ5_0>(slice);
    case GgmlType::kQ5_1:
      return MultiplyQuantised<V, GgmlType::kQ5_1>(slice);
    case GgmlType::kQ8_0:
      return MultiplyQuantised<V, GgmlType::kQ8_0>(slice);
    case GgmlType::kQ2_K:
      return MultiplyQuantised<V, GgmlType::kQ2_K>(slice);
    case GgmlType::kQ3_K:
      return MultiplyQuantised<V, GgmlType::kQ3_K>(slice);
    case GgmlType::kQ4_K:
      return MultiplyQuantised<V, GgmlType::kQ4_K>(slice);
    case GgmlType::kQ5_K:
      return MultiplyQuantised<V, GgmlType::kQ5_K>(slice);
    case GgmlType::kQ6_K:
      return MultiplyQuantised<V, GgmlType::kQ6_K>(slice);
    case GgmlType::kIQ4_NL:
      return MultiplyQuantised<V, GgmlType::kIQ4_NL>(slice);
    case GgmlType::kIQ4_XS:
      return MultiplyQuantised<V, GgmlType::kIQ4_XS>(slice);
    case GgmlType::kMXFP4:
      return MultiplyQuantised<V, GgmlType::kMXFP4>(slice);
  }
}

}  // namespace folio

#endif  // FOLIO_KERNELS_PRODUCT_KERNELS_H_
