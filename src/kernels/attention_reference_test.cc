// The scalar attention against softmax attention in double precision, written the naive way, with
// tolerances from each type's rounding error.
#include <gtest/gtest.h>

#include <string>

#include "kernels/attention_testing.h"

namespace folio {
namespace {

// Softmax attention of one query head at `position`, and the mean magnitude of what it sums.
struct Exact {
  std::vector<double> out;
  double largest_score = 0.0;  // of q.k in magnitudes, scaled
  double largest_value = 0.0;
};

Exact ExactAttention(const TestCache& cache, const AttentionShape& shape, std::int64_t position,
                     int query_head) {
  const int head_dim = shape.head_dim;
  const int kv_head = query_head / shape.group;
  const float* q = cache.q().data() + position * cache.q_width() + query_head * head_dim;
  const std::int64_t first =
      shape.window == 0 ? 0 : std::max<std::int64_t>(0, position - shape.window + 1);
  Exact exact;
  const int value_dim = cache.view().value_dim();
  exact.out.assign(static_cast<std::size_t>(value_dim), 0.0);
  std::vector<double> scores;
  double largest = -INFINITY;
  for (std::int64_t key = first; key <= position; ++key) {
    const float* k = cache.k().data() + key * cache.kv_width() + kv_head * head_dim;
    double dot = 0.0;
    double magnitude = 0.0;
    for (int d = 0; d < head_dim; ++d) {
      dot += static_cast<double>(q[d]) * k[d];
      magnitude += std::fabs(static_cast<double>(q[d]) * k[d]);
    }
    const double scale = cache.params().scale;
    const double cap = shape.softcap;
    scores.push_back(cap == 0.0 ? dot * scale : cap * std::tanh(dot * scale / cap));
    largest = std::max(largest, scores.back());
    exact.largest_score = std::max(exact.largest_score, magnitude * scale);
  }
  double sum = shape.sinks ? std::exp(cache.params().sinks[query_head] - largest) : 0.0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (std::int64_t key = first; key <= position; ++key) {
    const std::vector<float>& values = shape.latent_dim == 0 ? cache.v() : cache.k();
    const float* v = values.data() + key * cache.kv_width() + kv_head * head_dim;
    for (int d = 0; d < value_dim; ++d) {
      exact.out[static_cast<std::size_t>(d)] +=
          scores[static_cast<std::size_t>(key - first)] / sum * v[d];
      exact.largest_value = std::max(exact.largest_value, std::fabs(static_cast<double>(v[d])));
    }
  }
  return exact;
}

// Relative rounding errors of a stored element (q8_0: of its group's largest), a query and a
// weight.
struct Rounding {
  double stored = 0.0;
  double query = 0.0;
  double weight = 0.0;
};

Rounding RoundingOf(KvType type) {
  switch (type) {
    case KvType::kBf16:
      return {.stored = 0x1p-8, .query = 0x1p-8, .weight = 0x1p-8};
    case KvType::kF16:
      return {.stored = 0x1p-11};
    case KvType::kQ8_0:
      return {.stored = 0.5 / 127 + 0x1p-11};
    case KvType::kF32:
      break;
  }
  return {};
}

// A score is off by at most its magnitude sum times (query + stored + fp32 sums) =: e; a softmax
// weight then by a factor within exp(+-2e), and the weighted mean of values of magnitude <= V by
// V (2e + weight + stored + fp32). q8_0's error is relative to its group's largest element, which
// for normal values is at most four times their mean magnitude.
double Tolerance(const Exact& exact, KvType type) {
  const Rounding rounding = RoundingOf(type);
  const double fp32 = 1e-5;
  const double spread = type == KvType::kQ8_0 ? 4.0 : 1.0;
  const double score = exact.largest_score * (rounding.query + spread * rounding.stored + fp32);
  return exact.largest_value *
         (std::expm1(2.0 * score) + 2.0 * rounding.weight + rounding.stored + fp32);
}

class ReferenceTest : public testing::TestWithParam<KvType> {};

TEST_P(ReferenceTest, EqualsNaiveSoftmaxAttentionWithinRounding) {
  ThreadPool pool(1);
  for (const AttentionShape shape :
       {AttentionShape{.head_dim = 64, .length = 70},
        AttentionShape{.head_dim = 96, .block_size = 32, .length = 33},
        AttentionShape{.head_dim = 128,
                       .kv_heads = 1,
                       .group = 2,
                       .block_size = 64,
                       .window = 17,
                       .length = 100},
        AttentionShape{.head_dim = 32, .kv_heads = 1, .group = 1, .window = 520, .length = 1060},
        AttentionShape{.head_dim = 64, .length = 70, .softcap = 2.5F},
        AttentionShape{.head_dim = 64, .window = 20, .length = 600, .softcap = 1.5F, .sinks = true},
        AttentionShape{.head_dim = 32, .length = 70, .sinks = true},
        AttentionShape{.head_dim = 96, .kv_heads = 1, .length = 70, .latent_dim = 64},
        AttentionShape{.head_dim = 64,
                       .kv_heads = 1,
                       .group = 2,
                       .block_size = 32,
                       .window = 20,
                       .length = 600,
                       .latent_dim = 32}}) {
    AttentionShape typed = shape;
    typed.type = GetParam();
    TestCache cache(typed, 7);
    const std::vector<float> out = cache.Forward(Isa::kScalar, {typed.length}, pool);
    double error = 0.0;
    for (std::int64_t position = 0; position < typed.length; position += 7) {
      for (int head = 0; head < typed.kv_heads * typed.group; ++head) {
        const Exact exact = ExactAttention(cache, typed, position, head);
        const double tolerance = Tolerance(exact, typed.type);
        const int value_dim = cache.view().value_dim();
        for (int d = 0; d < value_dim; ++d) {
          const float value =
              out[static_cast<std::size_t>(position * cache.out_width() + head * value_dim + d)];
          const double difference = std::fabs(value - exact.out[static_cast<std::size_t>(d)]);
          ASSERT_LE(difference, tolerance) << "position " << position << " head " << head << " d "
                                           << d << " of head_dim " << typed.head_dim;
          error = std::max(error, difference);
        }
      }
    }
    // A test that could pass with a much worse result would show little: the error must be small in
    // itself too.
    EXPECT_LE(error, typed.type == KvType::kF32 ? 1e-5 : 0.1);
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, ReferenceTest,
                         testing::Values(KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0),
                         [](const auto& kv_type) {
                           return std::string(KvTypeName(kv_type.param));
                         });

}  // namespace
}  // namespace folio
