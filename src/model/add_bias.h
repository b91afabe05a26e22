// A linear layer's bias, added to the rows of its output.
#ifndef FOLIO_MODEL_ADD_BIAS_H_
#define FOLIO_MODEL_ADD_BIAS_H_

#include <cstdint>
#include <vector>

#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "kernels/elementwise.h"

namespace folio {

// Nothing happens where there is no bias.
inline void AddBias(Isa isa, const std::vector<float>& bias, float* row) {
  if (!bias.empty()) AddInPlace(isa, bias.data(), static_cast<std::int64_t>(bias.size()), row);
}

// y: [rows, width of the bias]
inline void AddBiasToRows(ThreadPool& pool, Isa isa, const std::vector<float>& bias,
                          std::int64_t rows, float* y) {
  if (bias.empty()) return;
  const auto width = static_cast<std::int64_t>(bias.size());
  pool.ParallelFor(rows, [&](std::int64_t row, int) { AddBias(isa, bias, y + row * width); });
}

}  // namespace folio

#endif  // FOLIO_MODEL_ADD_BIAS_H_
