#include "model/positions.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "model/exact_math.h"
#include "model/positions/rope_scaling.h"

namespace folio {

Rope MakeRope(const RopeConfig& config, std::int64_t max_context) {
  Rope rope =
      MakeRope({.base = config.base, .rotary_dim = config.rotary_dim}, config.scaling, max_context);
  DivideByFactors(config.frequency_factors, rope.frequencies);
  return rope;
}

std::string PositionsKey(const ModelConfig& config, std::int64_t max_context) {
  for (const RopeConfig& rope : config.ropes) {
    const auto* scaling = std::get_if<LongRopeScaling>(&rope.scaling);
    if (scaling == nullptr) continue;
    return max_context > scaling->original_context ? "longrope long" : "longrope short";
  }
  return "";
}

RopePositions::RopePositions(const ModelConfig& config, std::int64_t max_rows,
                             std::int64_t max_context) {
  for (const RopeConfig& rope : config.ropes) {
    Table table;
    table.rope = MakeRope(rope, max_context);
    table.cosines.resize(table.rope.frequencies.size() * static_cast<std::size_t>(max_rows));
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
              const Rope& rope = table.rope;
              const std::size_t pairs = rope.frequencies.size();
              const std::size_t row = static_cast<std::size_t>(sequence.first_row + i) * pairs;
              for (std::size_t pair = 0; pair < pairs; ++pair) {
                const SinCos angle = ExactSinCos(position * rope.frequencies[pair]);
                const double factor = rope.attention_factor;
                table.cosines[row + pair] = static_cast<float>(angle.cosine * factor);
                table.sines[row + pair] = static_cast<float>(angle.sine * factor);
              }
            }
          }
        });
  }
}

}  // namespace folio
