// The attention lab's inputs, and what their attention is in float64.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "folio/lab_attention_rungs.h"
#include "quant/half.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

// Box and Muller's transform of two uniform numbers, rounded to FP16.
std::vector<float> NormalHalves(std::int64_t count, std::uint64_t seed, std::uint32_t stream,
                                double deviation) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - UniformAt(seed, stream, 2 * i)));
    const double angle = 2 * std::numbers::pi * UniformAt(seed, stream, 2 * i + 1);
    const auto value = static_cast<float>(deviation * radius * std::cos(angle));
    values[static_cast<std::size_t>(i)] = HalfToFloat(FloatToHalf(value));
  }
  return values;
}

}  // namespace

AttentionInputs MakeInputs(std::int64_t tokens, std::int64_t head_dim, std::uint64_t seed,
                           float deviation) {
  const std::int64_t count = tokens * head_dim;
  return {.tokens = tokens,
          .head_dim = head_dim,
          .q = NormalHalves(count, seed, 0, deviation),
          .k = NormalHalves(count, seed, 1, deviation),
          .v = NormalHalves(count, seed, 2, 1)};
}

std::vector<double> ReferenceAttention(const AttentionInputs& inputs) {
  const std::int64_t n = inputs.tokens;
  const std::int64_t d = inputs.head_dim;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  std::vector<double> out(static_cast<std::size_t>(n * d));
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const float* q = inputs.q.data() + i * d;
    for (std::int64_t j = 0; j < n; ++j) {
      const float* k = inputs.k.data() + j * d;
      double dot = 0;
      for (std::int64_t c = 0; c < d; ++c) dot += double{q[c]} * double{k[c]};
      x[static_cast<std::size_t>(j)] = scale * dot;
    }
    const double m = *std::ranges::max_element(x);
    double sum = 0;
    double* o = out.data() + i * d;
    for (std::int64_t j = 0; j < n; ++j) {
      const double weight = std::exp(x[static_cast<std::size_t>(j)] - m);
      const float* v = inputs.v.data() + j * d;
      for (std::int64_t c = 0; c < d; ++c) o[c] += weight * double{v[c]};
      sum += weight;
    }
    for (std::int64_t c = 0; c < d; ++c) o[c] /= sum;
  }
  return out;
}

OutputDifference CompareOutput(const std::vector<float>& out, const std::vector<double>& reference,
                               std::int64_t head_dim) {
  OutputDifference difference;
  const auto width = static_cast<std::size_t>(head_dim);
  for (std::size_t row = 0; row < out.size(); row += width) {
    double largest = 0;
    bool lost = false;
    for (std::size_t i = row; i < row + width; ++i) {
      lost = lost || !std::isfinite(out[i]);
      largest = std::max(largest, std::abs(double{out[i]} - reference[i]));
    }
    if (lost) {
      ++difference.rows_lost;
    } else {
      difference.largest = std::max(difference.largest, largest);
    }
  }
  return difference;
}

}  // namespace folio
