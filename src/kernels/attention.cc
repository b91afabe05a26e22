// Walks sequences, rows, splits and tiles; the arithmetic of a tile is in attention_<isa>.cc.
//
// A unit of work is (sequence, KV head, up to kUnitRows query rows). Where units are many, each
// goes through all its splits; where they are few (decode), each split of a unit is a task of its
// own and a second loop merges. Both run the same functions on the same splits in the same order,
// so they give the same bits.
#include "kernels/attention.h"

#include <algorithm>
#include <limits>

#include "kernels/attention_tile.h"
#include "kernels/values_of_keys.h"

namespace folio {
namespace {

constexpr std::int64_t kUnitRows = 64;       // query rows (positions x heads) that share a KV tile
constexpr std::int64_t kUnitsPerThread = 4;  // fewer than this: splits become tasks
constexpr std::size_t kAlign = 64;
// Workspace for the parts of a call, at most. A call that needs more goes through its splits in
// order instead.
constexpr std::size_t kMaxPartBytes = std::size_t{8} << 20;

constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

constexpr std::size_t Aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

const AttentionKernels& KernelsOf(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return kAttentionAvx512;
    case Isa::kAvx2:
      return kAttentionAvx2;
    case Isa::kScalar:
      break;
  }
  return kAttentionScalar;
}

// How a call is cut, and what each piece of the workspace holds.
struct Plan {
  std::int64_t group = 0;      // query heads per KV head
  std::int64_t positions = 0;  // of one unit
  std::int64_t rows = 0;       // positions * group: at most, per unit
  std::int64_t units = 0;
  std::int64_t parts = 0;         // (unit, split) pairs
  std::size_t scratch_bytes = 0;  // per thread
  std::size_t part_bytes = 0;     // of one part

  // Never less for more rows or positions: a workspace sized for a model's largest call serves all.
  std::size_t AllPartBytes() const {
    return parts == units ? 0 : static_cast<std::size_t>(parts) * part_bytes;
  }
};

std::int64_t FirstSeen(std::int64_t position, std::int64_t window) {
  return window == 0 ? 0 : std::max<std::int64_t>(0, position - window + 1);
}

std::int64_t UnitsOf(const Plan& plan, const AttentionSequence& sequence, int kv_heads) {
  return (sequence.rows + plan.positions - 1) / plan.positions * kv_heads;
}

// Splits [first, first + count) that some row of the sequence sees.
struct Splits {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Splits SplitsOf(const AttentionSequence& sequence, std::int64_t window) {
  const std::int64_t first = FirstSeen(sequence.first_position, window) / kAttentionSplit;
  const std::int64_t last = (sequence.first_position + sequence.rows - 1) / kAttentionSplit;
  return {.first = first, .count = last - first + 1};
}

// Bytes of a V tile made of a latent K tile; 0 where values are stored.
std::size_t LatentTileBytes(const KvView& kv) {
  return kv.latent_dim == 0 ? 0 : Aligned(KvTileBytes(kv.type, kv.latent_dim));
}

Plan MakePlan(const KvView& kv, const AttentionParams& params,
              std::span<const AttentionSequence> sequences) {
  Plan plan;
  plan.group = params.query_heads / kv.kv_heads;
  std::int64_t most_rows = 1;
  for (const AttentionSequence& sequence : sequences)
    most_rows = std::max(most_rows, sequence.rows);
  plan.positions = std::min(most_rows, std::max<std::int64_t>(1, kUnitRows / plan.group));
  plan.rows = plan.positions * plan.group;
  for (const AttentionSequence& sequence : sequences) {
    if (sequence.rows == 0) continue;
    const std::int64_t units = UnitsOf(plan, sequence, kv.kv_heads);
    plan.units += units;
    plan.parts += units * SplitsOf(sequence, params.window).count;
  }
  const std::int64_t lanes = RoundUp(plan.rows, 16);
  const auto floats = [](std::int64_t count) {
    return Aligned(static_cast<std::size_t>(count) * sizeof(float));
  };
  plan.part_bytes = 2 * floats(lanes) + floats(plan.rows * kv.value_dim());
  plan.scratch_bytes = 2 * plan.part_bytes + floats(plan.rows * kv.head_dim) +
                       floats(lanes * kAttentionTile) + floats(lanes * 2) + 2 * LatentTileBytes(kv);
  return plan;
}

// Hands out pieces of the workspace in order.
class Carver {
 public:
  explicit Carver(std::byte* at) : at_(at) {}
  float* Floats(std::int64_t count) {
    auto* piece = reinterpret_cast<float*>(at_);
    at_ += Aligned(static_cast<std::size_t>(count) * sizeof(float));
    return piece;
  }
  std::byte* Rest() const { return at_; }

 private:
  std::byte* at_;
};

// One unit: some query rows of a sequence and a KV head.
struct Unit {
  const AttentionSequence* sequence = nullptr;
  int head = 0;
  std::int64_t row = 0;             // first row of the call
  std::int64_t first_position = 0;  // of that row
  std::int64_t positions = 0;
  Splits splits;                // of the sequence
  std::int64_t first_part = 0;  // of the unit, among all parts of the call
};

class Call {
 public:
  Call(const AttentionKernels& kernels, const KvView& kv, const AttentionParams& params,
       std::span<const AttentionSequence> sequences, const float* q, float* out,
       std::span<std::byte> workspace, int threads)
      : kernels_(kernels),
        kv_(kv),
        params_(params),
        sequences_(sequences),
        q_(q),
        out_(out),
        workspace_(workspace.data()),
        plan_(MakePlan(kv, params, sequences)),
        tile_bytes_(static_cast<std::int64_t>(KvTileBytes(kv.type, kv.head_dim))) {
    const std::size_t scratch = plan_.scratch_bytes * static_cast<std::size_t>(threads);
    const std::size_t parts = plan_.AllPartBytes();
    parts_ = workspace_ + scratch;
    split_tasks_ = plan_.units < kUnitsPerThread * threads && parts != 0 &&
                   parts <= kMaxPartBytes && scratch + parts <= workspace.size();
  }

  void Run(ThreadPool& pool) {
    if (!split_tasks_) {
      pool.ParallelFor(plan_.units, [this](std::int64_t task, int thread) {
        RunUnit(FindUnit(plan_.units - 1 - task), thread);  // the longest first
      });
      return;
    }
    pool.ParallelFor(plan_.parts, [this](std::int64_t part, int thread) { RunPart(part, thread); });
    pool.ParallelFor(plan_.units,
                     [this](std::int64_t unit, int thread) { MergeUnit(FindUnit(unit), thread); });
  }

 private:
  // Units in order of sequence, then rows, then head.
  Unit FindUnit(std::int64_t index) const {
    std::int64_t first_part = 0;
    for (const AttentionSequence& sequence : sequences_) {
      if (sequence.rows == 0) continue;
      const std::int64_t units = UnitsOf(plan_, sequence, kv_.kv_heads);
      const Splits splits = SplitsOf(sequence, params_.window);
      if (index < units) {
        const std::int64_t offset = index / kv_.kv_heads * plan_.positions;
        return {.sequence = &sequence,
                .head = static_cast<int>(index % kv_.kv_heads),
                .row = sequence.first_row + offset,
                .first_position = sequence.first_position + offset,
                .positions = std::min(plan_.positions, sequence.rows - offset),
                .splits = splits,
                .first_part = first_part + index * splits.count};
      }
      index -= units;
      first_part += units * splits.count;
    }
    return {};
  }

  // The unit and split of a part.
  Unit FindPart(std::int64_t part, std::int64_t* split) const {
    std::int64_t unit = 0;
    std::int64_t rest = part;
    for (const AttentionSequence& sequence : sequences_) {
      if (sequence.rows == 0) continue;
      const std::int64_t units = UnitsOf(plan_, sequence, kv_.kv_heads);
      const Splits splits = SplitsOf(sequence, params_.window);
      if (rest < units * splits.count) {
        *split = splits.first + rest % splits.count;
        return FindUnit(unit + rest / splits.count);
      }
      rest -= units * splits.count;
      unit += units;
    }
    return {};
  }

  AttentionRows RowsOf(const Unit& unit, Carver state) const {
    const std::int64_t lanes = RoundUp(plan_.rows, 16);
    AttentionRows rows;
    rows.rows = static_cast<int>(unit.positions * plan_.group);
    rows.group = static_cast<int>(plan_.group);
    rows.head_dim = kv_.head_dim;
    rows.value_dim = kv_.value_dim();
    rows.scale = params_.scale;
    rows.softcap = params_.softcap;
    rows.first_position = unit.first_position;
    rows.m = state.Floats(lanes);
    rows.l = state.Floats(lanes);
    rows.o = state.Floats(plan_.rows * kv_.value_dim());
    return rows;
  }

  // Gives `rows` the thread's q, p, scratch and values.
  void Borrow(int thread, AttentionRows* rows) const {
    const std::int64_t lanes = RoundUp(plan_.rows, 16);
    Carver carver(Scratch(thread) + 2 * plan_.part_bytes);
    rows->q = carver.Floats(plan_.rows * kv_.head_dim);
    rows->p = carver.Floats(lanes * kAttentionTile);
    rows->scratch = carver.Floats(lanes * 2);
    rows->values = carver.Rest();
  }

  std::byte* Scratch(int thread) const {
    return workspace_ + plan_.scratch_bytes * static_cast<std::size_t>(thread);
  }

  std::byte* Part(std::int64_t part) const {
    return parts_ + plan_.part_bytes * static_cast<std::size_t>(part);
  }

  static void Clear(const AttentionRows& rows) {
    std::fill_n(rows.m, RoundUp(rows.rows, 16), -std::numeric_limits<float>::infinity());
    std::fill_n(rows.l, RoundUp(rows.rows, 16), 0.0F);
    std::fill_n(rows.o, static_cast<std::int64_t>(rows.rows) * rows.value_dim, 0.0F);
  }

  // q and out are [row][query head][dim]: a KV head's group is contiguous in a row.
  std::int64_t OffsetOf(const Unit& unit, std::int64_t i, std::int64_t dim) const {
    return ((unit.row + i) * params_.query_heads + unit.head * plan_.group) * dim;
  }

  void LoadQueries(const Unit& unit, const AttentionRows& rows) const {
    const std::int64_t width = plan_.group * kv_.head_dim;
    for (std::int64_t i = 0; i < unit.positions; ++i) {
      kernels_.load_queries(kv_.type == KvType::kBf16, q_ + OffsetOf(unit, i, kv_.head_dim), width,
                            rows.q + i * width);
    }
  }

  void Finish(const Unit& unit, AttentionRows rows) const {
    const std::int64_t width = plan_.group * kv_.value_dim();
    rows.rows = rows.group;
    for (std::int64_t i = 0; i < unit.positions; ++i) {
      kernels_.finish(rows, out_ + OffsetOf(unit, i, kv_.value_dim()));
      rows.l += rows.group;
      rows.o += width;
    }
  }

  // The 16-token tile of absolute positions [16 * tile, 16 * tile + 16).
  const std::byte* KeyTile(const Unit& unit, std::int64_t tile) const {
    const std::int64_t per_block = kv_.block_size / kKvTileTokens;
    return kv_.base + unit.sequence->block_table[tile / per_block] * kv_.block_stride +
           kv_.layer_offset + unit.head * kv_.head_stride + tile % per_block * tile_bytes_;
  }

  // Tile [position, position + 32) as the unit sees it.
  AttentionTile MakeTile(const Unit& unit, std::int64_t position) const {
    const std::int64_t window = params_.window;
    AttentionTile tile;
    tile.first_position = position;
    tile.window = window;
    const std::int64_t begin = std::max<std::int64_t>(0, position - unit.first_position);
    std::int64_t end = unit.positions;
    if (window != 0) {
      end = std::min(end, position + kAttentionTile - 1 + window - unit.first_position);
    }
    tile.row_begin = static_cast<int>(begin * plan_.group);
    tile.row_end = static_cast<int>(end * plan_.group);
    const std::int64_t last_seen = unit.first_position + unit.positions - 1;
    const std::int64_t first_seen = FirstSeen(unit.first_position, window);
    for (int half = 0; half < 2; ++half) {
      const std::int64_t start = position + half * kKvTileTokens;
      if (start > last_seen || start + kKvTileTokens <= first_seen) continue;
      tile.k[half] = KeyTile(unit, start / kKvTileTokens);
      if (kv_.latent_dim == 0) tile.v[half] = tile.k[half] + kv_.v_offset;
    }
    return tile;
  }

  static std::int64_t Ahead(const std::byte* now, const std::byte* next) {
    return now == nullptr || next == nullptr ? 0 : next - now;
  }

  // The state of the unit's rows after the keys of one split, in `rows`.
  void RunSplit(const Unit& unit, std::int64_t split, const AttentionRows& rows) const {
    Clear(rows);
    const std::int64_t first =
        std::max(split * kAttentionSplit,
                 FirstSeen(unit.first_position, params_.window) / kAttentionTile * kAttentionTile);
    const std::int64_t end =
        std::min((split + 1) * kAttentionSplit, unit.first_position + unit.positions);
    if (first >= end) return;
    AttentionTile tile = MakeTile(unit, first);
    for (std::int64_t position = first; position < end; position += kAttentionTile) {
      AttentionTile next;
      if (position + kAttentionTile < end) next = MakeTile(unit, position + kAttentionTile);
      for (int half = 0; half < 2; ++half) {
        tile.k_ahead[half] = Ahead(tile.k[half], next.k[half]);
        tile.v_ahead[half] = Ahead(tile.v[half], next.v[half]);
      }
      if (kv_.latent_dim != 0) MakeValues(rows, &tile);
      kernels_.tile_step(kv_.type, rows, tile);
      tile = next;
    }
  }

  // The V tiles of latent keys, which lie in the thread's scratch until the next tile.
  void MakeValues(const AttentionRows& rows, AttentionTile* tile) const {
    for (int half = 0; half < 2; ++half) {
      if (tile->k[half] == nullptr) continue;
      std::byte* values = rows.values + static_cast<std::size_t>(half) * LatentTileBytes(kv_);
      ValuesOfKeys(kv_.type, tile->k[half], kv_.head_dim, kv_.latent_dim, values);
      tile->v[half] = values;
    }
  }

  void RunUnit(const Unit& unit, int thread) const {
    AttentionRows total = RowsOf(unit, Carver(Scratch(thread)));
    AttentionRows part = RowsOf(unit, Carver(Scratch(thread) + plan_.part_bytes));
    Borrow(thread, &total);
    Borrow(thread, &part);
    LoadQueries(unit, part);
    const std::int64_t first = FirstSeen(unit.first_position, params_.window) / kAttentionSplit;
    const std::int64_t last = (unit.first_position + unit.positions - 1) / kAttentionSplit;
    RunSplit(unit, first, total);
    for (std::int64_t split = first + 1; split <= last; ++split) {
      RunSplit(unit, split, part);
      kernels_.merge(part, total);
    }
    AddSinks(unit, part, total);
    Finish(unit, total);
  }

  // A head's sink is one more part, of a single key whose weight is 1 and whose value is zero.
  void AddSinks(const Unit& unit, const AttentionRows& sink, const AttentionRows& total) const {
    if (params_.sinks == nullptr) return;
    Clear(sink);
    for (int row = 0; row < sink.rows; ++row) {
      sink.m[row] = params_.sinks[unit.head * plan_.group + row % plan_.group];
      sink.l[row] = 1.0F;
    }
    kernels_.merge(sink, total);
  }

  void RunPart(std::int64_t index, int thread) const {
    std::int64_t split = 0;
    const Unit unit = FindPart(index, &split);
    AttentionRows rows = RowsOf(unit, Carver(Part(index)));
    Borrow(thread, &rows);
    LoadQueries(unit, rows);
    RunSplit(unit, split, rows);
  }

  void MergeUnit(const Unit& unit, int thread) const {
    AttentionRows total = RowsOf(unit, Carver(Part(unit.first_part)));
    Borrow(thread, &total);
    for (std::int64_t i = 1; i < unit.splits.count; ++i) {
      kernels_.merge(RowsOf(unit, Carver(Part(unit.first_part + i))), total);
    }
    AddSinks(unit, RowsOf(unit, Carver(Scratch(thread))), total);
    Finish(unit, total);
  }

  const AttentionKernels& kernels_;
  const KvView& kv_;
  const AttentionParams& params_;
  std::span<const AttentionSequence> sequences_;
  const float* q_;
  float* out_;
  std::byte* workspace_;
  std::byte* parts_ = nullptr;
  Plan plan_;
  std::int64_t tile_bytes_;
  bool split_tasks_ = false;
};

}  // namespace

std::size_t AttentionWorkspaceBytes(const KvView& kv, const AttentionParams& params,
                                    std::span<const AttentionSequence> sequences, int threads) {
  const Plan plan = MakePlan(kv, params, sequences);
  return plan.scratch_bytes * static_cast<std::size_t>(threads) +
         std::min(plan.AllPartBytes(), kMaxPartBytes);
}

void Attention(Isa isa, const KvView& kv, const AttentionParams& params,
               std::span<const AttentionSequence> sequences, const float* q, float* out,
               std::span<std::byte> workspace, ThreadPool& pool) {
  Call(KernelsOf(isa), kv, params, sequences, q, out, workspace, pool.size()).Run(pool);
}

}  // namespace folio
