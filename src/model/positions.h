// Where a token stands, as rotations of its queries and keys (RoPE, Su et al. 2021): the
// frequencies are pieces that an architecture combines, the angles of a step's rows are computed
// once for all layers.
#ifndef FOLIO_MODEL_POSITIONS_H_
#define FOLIO_MODEL_POSITIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/thread_pool.h"
#include "kernels/attention.h"
#include "model/config.h"

namespace folio {

// omega_i = base^(-2i / rotary_dim), in radians a position, [rotary_dim / 2].
std::vector<double> RopeFrequencies(double base, std::int64_t rotary_dim);
// Position interpolation (Chen et al. 2023): positions divided by `factor`.
void ScaleLinearly(double factor, std::vector<double>& frequencies);
// Llama 3.1: each frequency divided by the factor that the file gives for it.
void DivideByFactors(std::span<const float> factors, std::vector<double>& frequencies);

// Sine and cosine of every row's angle position * omega_i, for each of a model's rotary embeddings.
class RopePositions {
 public:
  RopePositions(const ModelConfig& config, std::span<const float> rope_factors,
                std::int64_t max_rows);

  // Computes the angles of the rows of `sequences`.
  void Fill(std::span<const AttentionSequence> sequences, ThreadPool& pool);

  const float* cosines(int rope, std::int64_t row) const { return Row(rope, 0, row); }
  const float* sines(int rope, std::int64_t row) const { return Row(rope, 1, row); }

  static std::size_t Bytes(const ModelConfig& config, std::int64_t max_rows);

 private:
  struct Table {
    std::vector<double> frequencies;
    std::vector<float> cosines;  // [max_rows, rotary_dim / 2]
    std::vector<float> sines;
  };

  const float* Row(int rope, int part, std::int64_t row) const {
    const Table& table = tables_[static_cast<std::size_t>(rope)];
    const auto& values = part == 0 ? table.cosines : table.sines;
    return values.data() + static_cast<std::size_t>(row) * table.frequencies.size();
  }

  std::vector<Table> tables_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_H_
