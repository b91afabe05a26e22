// Standard attention, forward and backward: a chain of kernels with tables in slow memory between
// them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "folio/lab_attention_training.h"

namespace folio {
namespace {

constexpr std::int64_t kBlock = 64;  // rows of the streamed matrix in fast memory at a time

class Standard {
 public:
  Standard(const TrainingInputs& inputs, ScoreRules rules, std::uint64_t fast_bytes)
      : n_(inputs.forward.tokens),
        d_(inputs.forward.head_dim),
        rules_(rules),
        scale_(1.0F / std::sqrt(static_cast<float>(d_))),
        tiers_(fast_bytes),
        q_(MakeSlow(n_, d_, inputs.forward.q)),
        k_(MakeSlow(n_, d_, inputs.forward.k)),
        v_(MakeSlow(n_, d_, inputs.forward.v)),
        d_out_(MakeSlow(n_, d_, inputs.d_out)),
        out_(MakeSlow(n_, d_, Element::kHalf)),
        dq_(out_),
        dk_(out_),
        dv_(out_),
        p_(MakeSlow(n_, n_, Element::kHalf)) {}

  Result<TrainingResult> Run() {
    TrainingResult result;
    Forward();
    result.forward = tiers_.traffic();
    result.forward_peak = tiers_.peak_bytes();
    Backward();
    if (const Status fits = tiers_.Fits(); !fits) return std::unexpected(fits.error());
    result.both = tiers_.traffic();
    result.peak = tiers_.peak_bytes();
    result.operations = done_;
    result.out = std::move(out_.values);
    result.dq = std::move(dq_.values);
    result.dk = std::move(dk_.values);
    result.dv = std::move(dv_.values);
    return result;
  }

 private:
  void Forward() {
    SlowMatrix s = MakeSlow(n_, n_, Element::kHalf);
    RowsByRows(q_, k_, scale_, s);
    if (rules_.causal) Mask(s);
    Softmax(s, p_);
    if (!rules_.dropout) return TableTimes(p_, v_, 1.0F, out_);
    kept_ = MakeSlow(n_, n_, Element::kByte);
    dropped_ = MakeSlow(n_, n_, Element::kHalf);
    Dropout(p_, kept_, dropped_);
    TableTimes(dropped_, v_, 1.0F, out_);
  }

  void Backward() {
    TransposedTimes(rules_.dropout ? dropped_ : p_, d_out_, 1.0F, dv_);
    SlowMatrix dp = MakeSlow(n_, n_, Element::kHalf);
    RowsByRows(d_out_, v_, 1.0F, dp);
    if (rules_.dropout) DropoutBackward(kept_, dp);
    SlowMatrix ds = MakeSlow(n_, n_, Element::kHalf);
    SoftmaxBackward(p_, dp, ds);
    TableTimes(ds, k_, scale_, dq_);
    TransposedTimes(ds, q_, scale_, dk_);
  }

  // Calls body(first, count) for all rows, kBlock at a time.
  template <typename Body>
  void ForBlocks(const Body& body) const {
    for (std::int64_t first = 0; first < n_; first += kBlock) {
      body(first, std::min(kBlock, n_ - first));
    }
  }

  FastBlock Keep(SlowMatrix& matrix) {
    FastBlock block = tiers_.Claim(n_, d_, Element::kHalf);
    tiers_.Load(matrix, {.rows = n_, .cols = d_}, block);
    return block;
  }

  // table = factor a b^T
  void RowsByRows(SlowMatrix& a, SlowMatrix& b, float factor, SlowMatrix& table) {
    tiers_.Release();
    const FastBlock kept = Keep(b);
    FastBlock rows = tiers_.Claim(kBlock, d_, Element::kHalf);
    FastBlock scores = tiers_.Claim(kBlock, kBlock, Element::kHalf);
    ForBlocks([&](std::int64_t first, std::int64_t count) {
      tiers_.Load(a, {.row = first, .rows = count, .cols = d_}, rows);
      ForBlocks([&](std::int64_t col, std::int64_t cols) {
        for (std::int64_t i = 0; i < count; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) {
            scores.row(i)[j] = tiers_.Half(factor * Dot(rows.row(i), kept.row(col + j), d_, done_));
          }
        }
        done_.others += count * cols;
        tiers_.Store(scores, {.row = first, .col = col, .rows = count, .cols = cols}, table);
      });
    });
  }

  // to = factor table b
  void TableTimes(SlowMatrix& table, SlowMatrix& b, float factor, SlowMatrix& to) {
    Product(table, b, factor, to, /*transposed=*/false);
  }
  // to = factor table^T b
  void TransposedTimes(SlowMatrix& table, SlowMatrix& b, float factor, SlowMatrix& to) {
    Product(table, b, factor, to, /*transposed=*/true);
  }

  void Product(SlowMatrix& table, SlowMatrix& b, float factor, SlowMatrix& to, bool transposed) {
    tiers_.Release();
    const FastBlock kept = Keep(b);
    FastBlock part = tiers_.Claim(kBlock, kBlock, Element::kHalf);
    FastBlock sums = tiers_.Claim(kBlock, d_, Element::kFloat);
    ForBlocks([&](std::int64_t first, std::int64_t count) {
      std::ranges::fill(sums.values, 0.0F);
      ForBlocks([&](std::int64_t inner, std::int64_t inners) {
        const Window window =
            transposed ? Window{.row = inner, .col = first, .rows = inners, .cols = count}
                       : Window{.row = first, .col = inner, .rows = count, .cols = inners};
        tiers_.Load(table, window, part);
        for (std::int64_t i = 0; i < count; ++i) {
          for (std::int64_t j = 0; j < inners; ++j) {
            const float weight = transposed ? part.row(j)[i] : part.row(i)[j];
            AddScaled(weight * factor, kept.row(inner + j), d_, sums.row(i), done_);
          }
        }
        done_.others += count * inners;
      });
      tiers_.Store(sums, {.row = first, .rows = count, .cols = d_}, to);
    });
  }

  // ---- Kernels that go through tables row by row: each reads or writes a whole row once ----

  Window Row(std::int64_t i) const { return {.row = i, .rows = 1, .cols = n_}; }
  FastBlock ClaimRow() { return tiers_.Claim(1, n_, Element::kHalf); }

  // The mask follows from the positions: it is not read.
  void Mask(SlowMatrix& table) {
    tiers_.Release();
    FastBlock x = ClaimRow();
    for (std::int64_t i = 0; i < n_; ++i) {
      tiers_.Load(table, Row(i), x);
      for (std::int64_t j = 0; j < n_; ++j) {
        if (!rules_.Sees(i, j)) x.values[static_cast<std::size_t>(j)] = -kInfinity;
      }
      done_.others += n_;
      tiers_.Store(x, Row(i), table);
    }
  }

  void Softmax(SlowMatrix& from, SlowMatrix& to) {
    tiers_.Release();
    FastBlock x = ClaimRow();
    for (std::int64_t i = 0; i < n_; ++i) {
      tiers_.Load(from, Row(i), x);
      const float m = *std::ranges::max_element(x.values);
      float sum = 0;
      for (float& value : x.values) sum += value = std::exp(value - m);
      for (float& value : x.values) value = tiers_.Half(value / sum);
      done_.exponentials += n_;
      done_.others += 4 * n_;
      tiers_.Store(x, Row(i), to);
    }
  }

  void Dropout(SlowMatrix& from, SlowMatrix& kept, SlowMatrix& to) {
    tiers_.Release();
    FastBlock x = ClaimRow();
    FastBlock keep = tiers_.Claim(1, n_, Element::kByte);
    for (std::int64_t i = 0; i < n_; ++i) {
      tiers_.Load(from, Row(i), x);
      for (std::int64_t j = 0; j < n_; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const float factor = rules_.Keep(i, j);
        keep.values[at] = factor > 0 ? 1.0F : 0.0F;
        x.values[at] = tiers_.Half(x.values[at] * factor);
      }
      done_.others += n_;
      tiers_.Store(keep, Row(i), kept);
      tiers_.Store(x, Row(i), to);
    }
  }

  void DropoutBackward(SlowMatrix& kept, SlowMatrix& table) {
    tiers_.Release();
    FastBlock x = ClaimRow();
    FastBlock keep = tiers_.Claim(1, n_, Element::kByte);
    for (std::int64_t i = 0; i < n_; ++i) {
      tiers_.Load(table, Row(i), x);
      tiers_.Load(kept, Row(i), keep);
      for (std::size_t j = 0; j < x.values.size(); ++j) {
        x.values[j] = tiers_.Half(keep.values[j] > 0 ? x.values[j] * ScoreRules::kKeptFactor : 0);
      }
      done_.others += n_;
      tiers_.Store(x, Row(i), table);
    }
  }

  void SoftmaxBackward(SlowMatrix& weights, SlowMatrix& gradients, SlowMatrix& to) {
    tiers_.Release();
    FastBlock p = ClaimRow();
    FastBlock dp = ClaimRow();
    for (std::int64_t i = 0; i < n_; ++i) {
      tiers_.Load(weights, Row(i), p);
      tiers_.Load(gradients, Row(i), dp);
      float sum = 0;
      for (std::size_t j = 0; j < p.values.size(); ++j) sum += p.values[j] * dp.values[j];
      for (std::size_t j = 0; j < p.values.size(); ++j) {
        dp.values[j] = tiers_.Half(p.values[j] * (dp.values[j] - sum));
      }
      done_.others += 4 * n_;
      tiers_.Store(dp, Row(i), to);
    }
  }

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  std::int64_t n_;
  std::int64_t d_;
  ScoreRules rules_;
  float scale_;
  TwoTiers tiers_;
  Operations done_;
  SlowMatrix q_, k_, v_, d_out_, out_, dq_, dk_, dv_;
  SlowMatrix p_;
  SlowMatrix kept_, dropped_;  // with dropout: a byte each, and the weights after it
};

}  // namespace

Result<TrainingResult> StandardTraining(const TrainingInputs& inputs, ScoreRules rules,
                                        std::uint64_t fast_bytes) {
  return Standard(inputs, rules, fast_bytes).Run();
}

}  // namespace folio
