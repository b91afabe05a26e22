#include "model/positions.h"

#include "model/exact_math.h"

namespace folio {

std::vector<double> RopeFrequencies(double base, std::int64_t rotary_dim) {
  const double log_base = ExactLog(base);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < rotary_dim / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim);
    frequencies.push_back(ExactExp(exponent * log_base));
  }
  return frequencies;
}

void ScaleLinearly(double factor, std::vector<double>& frequencies) {
  for (double& frequency : frequencies) frequency /= factor;
}

void DivideByFactors(std::span<const float> factors, std::vector<double>& frequencies) {
  for (std::size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] /= static_cast<double>(factors[i]);
}

RopePositions::RopePositions(const ModelConfig& config, std::span<const float> rope_factors,
                             std::int64_t max_rows) {
  for (const RopeConfig& rope : config.ropes) {
    Table table;
    table.frequencies = RopeFrequencies(rope.base, rope.rotary_dim);
    if (rope.linear_factor != 1.0) ScaleLinearly(rope.linear_factor, table.frequencies);
    if (rope.frequency_factors) DivideByFactors(rope_factors, table.frequencies);
    table.cosines.resize(table.frequencies.size() * static_cast<std::size_t>(max_rows));
    table.sines.resize(table.cosines.size());
    tables_.push_back(std::move(table));
  }
}

std::size_t RopePositions::Bytes(const ModelConfig& config, std::int64_t max_rows) {
  std::size_t bytes = 0;
  for (const RopeConfig& rope : config.ropes) {
    bytes += static_cast<std::size_t>(rope.rotary_dim * max_rows) * sizeof(float);
  }
  return bytes;
}

void RopePositions::Fill(std::span<const AttentionSequence> sequences, ThreadPool& pool) {
  constexpr std::int64_t kRowsPerTask = 16;
  for (const AttentionSequence& sequence : sequences) {
    pool.ParallelFor(
        (sequence.rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
          const std::int64_t end = std::min(sequence.rows, (task + 1) * kRowsPerTask);
          for (std::int64_t i = task * kRowsPerTask; i < end; ++i) {
            const auto position = static_cast<double>(sequence.first_position + i);
            for (Table& table : tables_) {
              const std::size_t pairs = table.frequencies.size();
              const std::size_t row = static_cast<std::size_t>(sequence.first_row + i) * pairs;
              for (std::size_t pair = 0; pair < pairs; ++pair) {
                const SinCos angle = ExactSinCos(position * table.frequencies[pair]);
                table.cosines[row + pair] = static_cast<float>(angle.cosine);
                table.sines[row + pair] = static_cast<float>(angle.sine);
              }
            }
          }
        });
  }
}

}  // namespace folio
