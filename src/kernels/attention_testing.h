// A paged KV cache for tests: blocks scattered in random order, everything that was never stored
// filled with NaN patterns, and queries, keys and values of a whole sequence to store and attend in
// any chunks.
#ifndef FOLIO_KERNELS_ATTENTION_TESTING_H_
#define FOLIO_KERNELS_ATTENTION_TESTING_H_

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "kernels/attention.h"

namespace folio {

struct AttentionShape {
  KvType type = KvType::kBf16;
  int head_dim = 64;
  int kv_heads = 2;
  int group = 3;
  int block_size = 16;
  std::int64_t window = 0;
  std::int64_t length = 64;  // of the sequence
  float softcap = 0.0F;
  bool sinks = false;
  int latent_dim = 0;  // not 0: values are the keys' first elements
};

class TestCache {
 public:
  TestCache(const AttentionShape& shape, unsigned seed) : shape_(shape) {
    const auto tile = static_cast<std::int64_t>(KvTileBytes(shape.type, shape.head_dim));
    const std::int64_t tiles = shape.block_size / kKvTileTokens;
    view_.block_size = shape.block_size;
    view_.kv_heads = shape.kv_heads;
    view_.head_dim = shape.head_dim;
    view_.type = shape.type;
    view_.v_offset = tiles * tile;
    view_.head_stride = (shape.latent_dim == 0 ? 2 : 1) * tiles * tile;
    view_.latent_dim = shape.latent_dim;
    view_.layer_offset = 64;
    view_.block_stride = view_.layer_offset + shape.kv_heads * view_.head_stride + 64;
    const std::int64_t blocks = (shape.length + shape.block_size - 1) / shape.block_size;
    table_.resize(static_cast<std::size_t>(blocks));
    std::iota(table_.begin(), table_.end(), 1);
    std::shuffle(table_.begin(), table_.end(), std::mt19937(seed));
    arena_.assign(static_cast<std::size_t>((blocks + 2) * view_.block_stride), std::byte{0xff});
    view_.base = arena_.data();
    q_ = Normal(seed + 1, shape.length * q_width(), 1.0F);
    k_ = Normal(seed + 2, shape.length * kv_width(), 2.0F);
    v_ = Normal(seed + 3, shape.length * kv_width(), 1.0F);
    sinks_ = Normal(seed + 4, std::int64_t{shape.kv_heads} * shape.group, 3.0F);
  }
  TestCache(const TestCache&) = delete;
  TestCache& operator=(const TestCache&) = delete;

  AttentionParams params() const {
    return {.query_heads = shape_.kv_heads * shape_.group,
            .scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)),
            .softcap = shape_.softcap,
            .window = shape_.window,
            .sinks = shape_.sinks ? sinks_.data() : nullptr};
  }
  std::int64_t q_width() const {
    return static_cast<std::int64_t>(shape_.kv_heads) * shape_.group * shape_.head_dim;
  }
  std::int64_t out_width() const {
    return static_cast<std::int64_t>(shape_.kv_heads) * shape_.group * view_.value_dim();
  }
  std::int64_t kv_width() const {
    return static_cast<std::int64_t>(shape_.kv_heads) * shape_.head_dim;
  }
  const KvView& view() const { return view_; }
  const std::vector<std::byte>& arena() const { return arena_; }
  std::vector<std::int32_t>& table() { return table_; }
  std::byte* block(std::size_t index) { return arena_.data() + table_[index] * view_.block_stride; }
  const std::vector<float>& q() const { return q_; }
  const std::vector<float>& k() const { return k_; }
  const std::vector<float>& v() const { return v_; }

  void SetValuesToKeys() { v_ = k_; }
  // Element `at` of a token's first head; latent vectors have no values.
  void SetKey(std::int64_t token, int at, float x) {
    k_[static_cast<std::size_t>(token * kv_width() + at)] = x;
  }
  void SetValue(std::int64_t token, int at, float x) {
    v_[static_cast<std::size_t>(token * kv_width() + at)] = x;
  }

  AttentionSequence Sequence(std::int64_t first, std::int64_t rows) const {
    return {.block_table = table_.data(), .first_position = first, .first_row = 0, .rows = rows};
  }

  void StoreRows(Isa isa, std::int64_t first, std::int64_t rows, ThreadPool& pool) {
    const AttentionSequence sequence = Sequence(first, rows);
    StoreKv(isa, view_, {&sequence, 1}, k_.data() + first * kv_width(),
            shape_.latent_dim == 0 ? v_.data() + first * kv_width() : nullptr, pool);
  }

  // The outputs of rows [first, first + rows), whose keys have been stored.
  std::vector<float> Attend(Isa isa, std::int64_t first, std::int64_t rows,
                            ThreadPool& pool) const {
    const AttentionSequence sequence = Sequence(first, rows);
    const std::span<const AttentionSequence> sequences(&sequence, 1);
    const AttentionParams attention = params();
    std::vector<float> out(static_cast<std::size_t>(rows * out_width()), NAN);
    std::vector<std::byte> workspace(
        AttentionWorkspaceBytes(view_, attention, sequences, pool.size()) + 64, std::byte{0xff});
    const std::size_t skew = reinterpret_cast<std::uintptr_t>(workspace.data()) % 64;
    Attention(isa, view_, attention, sequences, q_.data() + first * q_width(), out.data(),
              std::span(workspace).subspan((64 - skew) % 64, workspace.size() - 64), pool);
    return out;
  }

  // Stores and attends chunk after chunk: the outputs of all rows.
  std::vector<float> Forward(Isa isa, const std::vector<std::int64_t>& chunks, ThreadPool& pool) {
    std::vector<float> out;
    std::int64_t first = 0;
    for (const std::int64_t rows : chunks) {
      StoreRows(isa, first, rows, pool);
      const std::vector<float> part = Attend(isa, first, rows, pool);
      out.insert(out.end(), part.begin(), part.end());
      first += rows;
    }
    return out;
  }

 private:
  // A longer stream of the same seed begins with the shorter one: so do a longer sequence's rows.
  static std::vector<float> Normal(unsigned seed, std::int64_t count, float deviation) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, deviation);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  }

  AttentionShape shape_;
  KvView view_;
  std::vector<std::int32_t> table_;
  std::vector<std::byte> arena_;
  std::vector<float> q_;
  std::vector<float> k_;
  std::vector<float> v_;
  std::vector<float> sinks_;  // [query heads]
};

inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace folio

#endif  // FOLIO_KERNELS_ATTENTION_TESTING_H_
