// FlashAttention as its paper writes it down: Algorithm 2 forward (1 with mask and dropout) and
// Algorithm 4 backward, keys in the outer loop, and every line that touches HBM touches slow memory
// here. The lines' numbers are the paper's.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "folio/lab_attention_training.h"

namespace folio {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

class Flash {
 public:
  Flash(const TrainingInputs& inputs, ScoreRules rules, Tile tile, std::uint64_t fast_bytes)
      : n_(inputs.forward.tokens),
        d_(inputs.forward.head_dim),
        rules_(rules),
        tile_{.queries = std::min(tile.queries, n_), .keys = std::min(tile.keys, n_)},
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
        m_(MakeSlow(n_, 1, Element::kFloat)),
        l_(m_) {}

  Result<TrainingResult> Run() {
    TrainingResult result;
    Forward();
    result.forward = tiers_.traffic();
    result.forward_peak = tiers_.peak_bytes();
    tiers_.Release();
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
  struct Rows {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  template <typename Body>
  void ForTiles(std::int64_t step, const Body& body) const {
    for (std::int64_t first = 0; first < n_; first += step) {
      body(Rows{.first = first, .count = std::min(step, n_ - first)});
    }
  }

  Window Of(Rows rows) const { return {.row = rows.first, .rows = rows.count, .cols = d_}; }
  static Window StateOf(Rows rows) { return {.row = rows.first, .rows = rows.count, .cols = 1}; }
  static void Fill(FastBlock& block, float value) { std::ranges::fill(block.values, value); }

  // ---- Forward ----

  struct ForwardBuffers {
    FastBlock q, o, m, l;  // of a query tile
    FastBlock k, v;        // of a key tile
    FastBlock x;           // scores, then weights
  };

  void Forward() {
    ForwardBuffers fast{.q = Queries(),
                        .o = Queries(),
                        .m = State(),
                        .l = State(),
                        .k = Keys(),
                        .v = Keys(),
                        .x = Table()};
    Fill(fast.m, kMinusInfinity);
    ForTiles(tile_.queries, [&](Rows rows) {  // line 2: o = 0, l = 0, m = -inf in HBM
      tiers_.Store(fast.o, Of(rows), out_);
      tiers_.Store(fast.l, StateOf(rows), l_);
      tiers_.Store(fast.m, StateOf(rows), m_);
    });
    ForTiles(tile_.keys, [&](Rows keys) {  // lines 6 to 16
      tiers_.Load(k_, Of(keys), fast.k);
      tiers_.Load(v_, Of(keys), fast.v);
      ForTiles(tile_.queries, [&](Rows rows) {
        tiers_.Load(q_, Of(rows), fast.q);
        tiers_.Load(out_, Of(rows), fast.o);
        tiers_.Load(l_, StateOf(rows), fast.l);
        tiers_.Load(m_, StateOf(rows), fast.m);
        Scores(fast.q, fast.k, rows, keys, fast.x);
        for (std::int64_t i = 0; i < rows.count; ++i) Advance(fast, rows, keys, i);
        tiers_.Store(fast.o, Of(rows), out_);
        tiers_.Store(fast.l, StateOf(rows), l_);
        tiers_.Store(fast.m, StateOf(rows), m_);
      });
    });
  }

  // Lines 10 to 13 for one row: its state and output once it has seen these keys too.
  void Advance(ForwardBuffers& fast, Rows rows, Rows keys, std::int64_t i) {
    float* x = fast.x.row(i);
    float& m = *fast.m.row(i);
    float& l = *fast.l.row(i);
    const float m_tile = *std::max_element(x, x + keys.count);
    done_.others += keys.count;
    // Never -inf: every row sees the first key. Keys that it doesn't see weigh 0, and are computed.
    const float m_new = std::max(m, m_tile);
    float l_tile = 0;
    for (std::int64_t j = 0; j < keys.count; ++j) {
      const float weight = std::exp(x[j] - m_new);
      l_tile += weight;
      x[j] = tiers_.Half(weight * rules_.Keep(rows.first + i, keys.first + j));
    }
    const float kept = l * std::exp(m - m_new);
    const float l_new = kept + l_tile;
    done_.exponentials += keys.count + 1;
    done_.others += 3 * keys.count + 4;
    Rescale(kept / l_new, d_, fast.o.row(i), done_);
    for (std::int64_t j = 0; j < keys.count; ++j) {
      AddScaled(x[j] / l_new, fast.v.row(j), d_, fast.o.row(i), done_);
    }
    done_.others += keys.count;
    m = m_new;
    l = l_new;
  }

  // tau q k^T under the mask.
  void Scores(const FastBlock& q, const FastBlock& k, Rows rows, Rows keys, FastBlock& x) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      for (std::int64_t j = 0; j < keys.count; ++j) {
        const float score = tiers_.Half(scale_ * Dot(q.row(i), k.row(j), d_, done_));
        x.row(i)[j] = rules_.Sees(rows.first + i, keys.first + j) ? score : kMinusInfinity;
      }
    }
    done_.others += rows.count * keys.count;
  }

  // ---- Backward ----

  struct BackwardBuffers {
    FastBlock q, o, d_out, dq, m, l;  // of a query tile
    FastBlock k, v, dk, dv;           // of a key tile
    FastBlock p, dp;                  // weights, then gradients of scores; gradients of weights
  };

  void Backward() {
    BackwardBuffers fast{.q = Queries(),
                         .o = Queries(),
                         .d_out = Queries(),
                         .dq = Queries(),
                         .m = State(),
                         .l = State(),
                         .k = Keys(),
                         .v = Keys(),
                         .dk = tiers_.Claim(tile_.keys, d_, Element::kFloat),
                         .dv = tiers_.Claim(tile_.keys, d_, Element::kFloat),
                         .p = Table(),
                         .dp = Table()};
    ForTiles(tile_.queries, [&](Rows rows) { tiers_.Store(fast.dq, Of(rows), dq_); });  // line 5
    ForTiles(tile_.keys, [&](Rows keys) {
      tiers_.Store(fast.dk, Of(keys), dk_);
      tiers_.Store(fast.dv, Of(keys), dv_);
    });
    ForTiles(tile_.keys, [&](Rows keys) {  // lines 6 to 25
      tiers_.Load(k_, Of(keys), fast.k);
      tiers_.Load(v_, Of(keys), fast.v);
      Fill(fast.dk, 0);
      Fill(fast.dv, 0);
      ForTiles(tile_.queries, [&](Rows rows) {
        tiers_.Load(q_, Of(rows), fast.q);
        tiers_.Load(out_, Of(rows), fast.o);
        tiers_.Load(d_out_, Of(rows), fast.d_out);
        tiers_.Load(dq_, Of(rows), fast.dq);
        tiers_.Load(l_, StateOf(rows), fast.l);
        tiers_.Load(m_, StateOf(rows), fast.m);
        Scores(fast.q, fast.k, rows, keys, fast.p);
        for (std::int64_t i = 0; i < rows.count; ++i) GoBack(fast, rows, keys, i);
        tiers_.Store(fast.dq, Of(rows), dq_);
      });
      tiers_.Store(fast.dk, Of(keys), dk_);
      tiers_.Store(fast.dv, Of(keys), dv_);
    });
  }

  // Lines 13 to 22 for one row.
  void GoBack(BackwardBuffers& fast, Rows rows, Rows keys, std::int64_t i) {
    float* p = fast.p.row(i);
    float* dp = fast.dp.row(i);
    const float m = *fast.m.row(i);
    const float l = *fast.l.row(i);
    const float* d_out = fast.d_out.row(i);
    Operations aside;  // the row sum of line 19 is no product of the paper's count
    const float weighted = Dot(d_out, fast.o.row(i), d_, aside);
    done_.others += aside.multiply_adds;
    for (std::int64_t j = 0; j < keys.count; ++j) {
      const float keep = rules_.Keep(rows.first + i, keys.first + j);
      p[j] = std::exp(p[j] - m) / l;
      AddScaled(tiers_.Half(p[j] * keep), d_out, d_, fast.dv.row(j), done_);
      dp[j] = keep * Dot(d_out, fast.v.row(j), d_, done_);
      const float ds = tiers_.Half(p[j] * (dp[j] - weighted)) * scale_;
      AddScaled(ds, fast.k.row(j), d_, fast.dq.row(i), done_);
      AddScaled(ds, fast.q.row(i), d_, fast.dk.row(j), done_);
    }
    done_.exponentials += keys.count;
    done_.others += 7 * keys.count;
  }

  FastBlock Queries() { return tiers_.Claim(tile_.queries, d_, Element::kHalf); }
  FastBlock Keys() { return tiers_.Claim(tile_.keys, d_, Element::kHalf); }
  FastBlock State() { return tiers_.Claim(tile_.queries, 1, Element::kFloat); }
  FastBlock Table() { return tiers_.Claim(tile_.queries, tile_.keys, Element::kHalf); }

  std::int64_t n_;
  std::int64_t d_;
  ScoreRules rules_;
  Tile tile_;
  float scale_;
  TwoTiers tiers_;
  Operations done_;
  SlowMatrix q_, k_, v_, d_out_, out_, dq_, dk_, dv_;
  SlowMatrix m_, l_;  // of each query row
};

}  // namespace

Result<TrainingResult> FlashTraining(const TrainingInputs& inputs, ScoreRules rules, Tile tile,
                                     std::uint64_t fast_bytes) {
  return Flash(inputs, rules, tile, fast_bytes).Run();
}

}  // namespace folio
