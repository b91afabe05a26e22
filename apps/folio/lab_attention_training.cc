// What both ways of training share: the rules, the inputs and the float64 reference.
#include "folio/lab_attention_training.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr std::uint64_t kDropoutSeed = 1234;
constexpr std::uint64_t kGradientSeed = 77;  // apart from the inputs' seed

// Row after row: weights, output, and what flows back through them.
class Reference {
 public:
  Reference(const TrainingInputs& inputs, ScoreRules rules)
      : in_(inputs), rules_(rules), n_(inputs.forward.tokens), d_(inputs.forward.head_dim) {
    for (std::vector<double>* part : {&result_.out, &result_.dq, &result_.dk, &result_.dv}) {
      part->resize(static_cast<std::size_t>(n_ * d_));
    }
  }

  TrainingReference Run() {
    std::vector<double> p(static_cast<std::size_t>(n_));
    for (std::int64_t i = 0; i < n_; ++i) Row(i, p);
    return std::move(result_);
  }

 private:
  double Dot(const float* a, const float* b) const {
    double sum = 0;
    for (std::int64_t c = 0; c < d_; ++c) sum += double{a[c]} * double{b[c]};
    return sum;
  }

  void Add(double factor, const float* from, std::vector<double>& to, std::int64_t row) const {
    double* target = to.data() + row * d_;
    for (std::int64_t c = 0; c < d_; ++c) target[c] += factor * double{from[c]};
  }

  void Softmax(std::int64_t i, std::vector<double>& p) const {
    const double scale = 1 / std::sqrt(static_cast<double>(d_));
    double m = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < n_; ++j) {
      double& x = p[static_cast<std::size_t>(j)];
      x = rules_.Sees(i, j)
              ? scale * Dot(in_.forward.q.data() + i * d_, in_.forward.k.data() + j * d_)
              : -std::numeric_limits<double>::infinity();
      m = std::max(m, x);
    }
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - m);
    for (double& x : p) x /= sum;
  }

  void Row(std::int64_t i, std::vector<double>& p) {
    Softmax(i, p);
    const float* d_out = in_.d_out.data() + i * d_;
    const double scale = 1 / std::sqrt(static_cast<double>(d_));
    std::vector<double> dp(static_cast<std::size_t>(n_));
    double weighted = 0;  // the sum of p dp, equal to d_out . out
    for (std::int64_t j = 0; j < n_; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const double keep = rules_.Keep(i, j);
      const float* v = in_.forward.v.data() + j * d_;
      Add(p[at] * keep, v, result_.out, i);
      Add(p[at] * keep, d_out, result_.dv, j);
      dp[at] = keep * Dot(d_out, v);
      weighted += p[at] * dp[at];
    }
    for (std::int64_t j = 0; j < n_; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const double ds = scale * p[at] * (dp[at] - weighted);
      Add(ds, in_.forward.k.data() + j * d_, result_.dq, i);
      Add(ds, in_.forward.q.data() + i * d_, result_.dk, j);
    }
  }

  const TrainingInputs& in_;
  ScoreRules rules_;
  std::int64_t n_;
  std::int64_t d_;
  TrainingReference result_;
};

double Relative(const std::vector<float>& values, const std::vector<double>& reference) {
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(double{values[i]} - reference[i]));
    largest = std::max(largest, std::abs(reference[i]));
  }
  return difference / largest;
}

}  // namespace

float ScoreRules::Keep(std::int64_t query, std::int64_t key) const {
  if (!dropout) return 1.0F;
  const double u = UniformAt(kDropoutSeed, static_cast<std::uint32_t>(query), key);
  return u < double{kDropped} ? 0.0F : kKeptFactor;
}

TrainingInputs MakeTrainingInputs(std::int64_t tokens, std::int64_t head_dim, std::uint64_t seed) {
  TrainingInputs inputs{.forward = MakeInputs(tokens, head_dim, seed, 1.0F)};
  inputs.d_out = MakeInputs(tokens, head_dim, seed + kGradientSeed, 1.0F).v;
  return inputs;
}

Tile PaperTile(std::uint64_t fast_bytes, std::int64_t head_dim) {
  const auto elements = static_cast<std::int64_t>(fast_bytes / 2);
  const std::int64_t keys =
      std::max<std::int64_t>(1, (elements + 4 * head_dim - 1) / (4 * head_dim));
  return {.queries = std::min(keys, head_dim), .keys = keys};
}

TrainingReference ReferenceTraining(const TrainingInputs& inputs, ScoreRules rules) {
  return Reference(inputs, rules).Run();
}

double LargestDifference(const TrainingResult& result, const TrainingReference& reference) {
  return std::max({Relative(result.out, reference.out), Relative(result.dq, reference.dq),
                   Relative(result.dk, reference.dk), Relative(result.dv, reference.dv)});
}

}  // namespace folio
