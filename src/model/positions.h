// The angles of a step's rows, for each of a model's rotary embeddings: computed once for all
// layers. What the embeddings are, and every other way to tell positions, lies in positions/.
#ifndef FOLIO_MODEL_POSITIONS_H_
#define FOLIO_MODEL_POSITIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpu/thread_pool.h"
#include "kernels/attention.h"
#include "model/config.h"
#include "model/positions/rope.h"

namespace folio {

// The hands of a model's rotary embedding, for sequences of up to `max_context` tokens.
Rope MakeRope(const RopeConfig& config, std::int64_t max_context);

// What cached keys depend on beside the model's file: part of every block's hash. Empty for all but
// LongRoPE, whose list of factors `max_context` chooses.
std::string PositionsKey(const ModelConfig& config, std::int64_t max_context);

// Sine and cosine of every row's angle position * omega_i, times the embedding's attention factor.
class RopePositions {
 public:
  // `max_context`: the most positions of a sequence.
  RopePositions(const ModelConfig& config, std::int64_t max_rows, std::int64_t max_context);

  // Computes the angles of the rows of `sequences`.
  void Fill(std::span<const AttentionSequence> sequences, ThreadPool& pool);

  const float* cosines(int rope, std::int64_t row) const { return Row(rope, 0, row); }
  const float* sines(int rope, std::int64_t row) const { return Row(rope, 1, row); }

  static std::size_t Bytes(const ModelConfig& config, std::int64_t max_rows);

 private:
  struct Table {
    Rope rope;
    std::vector<float> cosines;  // [max_rows, rotary_dim / 2]
    std::vector<float> sines;
  };

  const float* Row(int rope, int part, std::int64_t row) const {
    const Table& table = tables_[static_cast<std::size_t>(rope)];
    const auto& values = part == 0 ? table.cosines : table.sines;
    return values.data() + static_cast<std::size_t>(row) * table.rope.frequencies.size();
  }

  std::vector<Table> tables_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_H_
