#include "folio/lab_attention_memory.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "quant/half.h"

namespace folio {

SlowMatrix MakeSlow(std::int64_t rows, std::int64_t cols, Element element) {
  SlowMatrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.element = element;
  matrix.values.resize(static_cast<std::size_t>(rows * cols));
  return matrix;
}

SlowMatrix MakeSlow(std::int64_t rows, std::int64_t cols, const std::vector<float>& halves) {
  SlowMatrix matrix = MakeSlow(rows, cols, Element::kHalf);
  std::ranges::copy(halves, matrix.values.begin());
  return matrix;
}

FastBlock TwoTiers::Claim(std::int64_t rows, std::int64_t cols, Element element) {
  FastBlock block;
  block.rows = rows;
  block.cols = cols;
  block.element = element;
  claimed_ += block.bytes();
  peak_ = std::max(peak_, claimed_);
  block.values.resize(static_cast<std::size_t>(rows * cols));
  return block;
}

Status TwoTiers::Fits() const {
  if (peak_ <= fast_bytes_) return {};
  return UsageError("--fast-memory", "",
                    "has " + std::to_string(fast_bytes_) + " bytes, and the buffers of a tile " +
                        "take " + std::to_string(peak_));
}

void TwoTiers::Load(SlowMatrix& from, const Window& window, FastBlock& to) {
  for (std::int64_t i = 0; i < window.rows; ++i) {
    std::copy_n(from.row(window.row + i) + window.col, window.cols, to.row(i));
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(window.rows * window.cols) *
                              static_cast<std::uint64_t>(from.element);
  from.bytes_read += bytes;
  traffic_.read += bytes;
}

void TwoTiers::Store(const FastBlock& from, const Window& window, SlowMatrix& to) {
  for (std::int64_t i = 0; i < window.rows; ++i) {
    const float* source = from.row(i);
    float* target = to.row(window.row + i) + window.col;
    const bool round = to.element == Element::kHalf;
    for (std::int64_t j = 0; j < window.cols; ++j) target[j] = round ? Half(source[j]) : source[j];
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(window.rows * window.cols) *
                              static_cast<std::uint64_t>(to.element);
  to.bytes_written += bytes;
  traffic_.written += bytes;
}

float TwoTiers::Half(float x) {
  const float rounded = HalfToFloat(FloatToHalf(x));
  if (std::isinf(rounded) && !std::isinf(x)) ++overflows_;
  return rounded;
}

}  // namespace folio
