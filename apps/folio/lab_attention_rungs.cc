#include "folio/lab_attention_rungs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace folio {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// What a tile needs of fast memory, on every rung alike.
struct Buffers {
  FastBlock q, k, v;  // FP16
  FastBlock x;        // scores, then weights, of a tile: FP16
  FastBlock o;        // sums of the output
  FastBlock m, l;     // of each query row: largest score, denominator

  static Buffers Claim(TwoTiers& tiers, Tile tile, std::int64_t head_dim) {
    return {.q = tiers.Claim(tile.queries, head_dim, Element::kHalf),
            .k = tiers.Claim(tile.keys, head_dim, Element::kHalf),
            .v = tiers.Claim(tile.keys, head_dim, Element::kHalf),
            .x = tiers.Claim(tile.queries, tile.keys, Element::kHalf),
            .o = tiers.Claim(tile.queries, head_dim, Element::kFloat),
            .m = tiers.Claim(tile.queries, 1, Element::kFloat),
            .l = tiers.Claim(tile.queries, 1, Element::kFloat)};
  }
};

class RungRun {
 public:
  RungRun(const AttentionInputs& inputs, Tile tile, std::uint64_t fast_bytes)
      : n_(inputs.tokens),
        d_(inputs.head_dim),
        tile_(tile),
        scale_(1.0F / std::sqrt(static_cast<float>(inputs.head_dim))),
        q_(MakeSlow(n_, d_, inputs.q)),
        k_(MakeSlow(n_, d_, inputs.k)),
        v_(MakeSlow(n_, d_, inputs.v)),
        out_(MakeSlow(n_, d_, Element::kHalf)),
        tiers_(fast_bytes),
        fast_(Buffers::Claim(tiers_, tile, d_)) {}

  Result<RungResult> Run(Rung rung) {
    if (const Status fits = tiers_.Fits(); !fits) return std::unexpected(fits.error());
    if (rung == Rung::kThreePass || rung == Rung::kSafeThreePass) {
      scores_ = MakeSlow(n_, n_, Element::kHalf);
      weights_ = MakeSlow(n_, n_, Element::kHalf);
    }
    std::int64_t blocks = 0;
    for (first_ = 0; first_ < n_; first_ += tile_.queries, ++blocks) {
      rows_ = std::min(tile_.queries, n_ - first_);
      tiers_.Load(q_, {.row = first_, .rows = rows_, .cols = d_}, fast_.q);
      Clear();
      Block(rung);
      tiers_.Store(fast_.o, {.row = first_, .rows = rows_, .cols = d_}, out_);
    }
    return Take(blocks);
  }

 private:
  // The key rows [first, first + count) of a step of a sweep.
  struct Keys {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  // Walks the n positions once, some keys at a time.
  template <typename Body>
  void Sweep(const Body& body) {
    ++sweeps_;
    for (std::int64_t first = 0; first < n_; first += tile_.keys) {
      body(Keys{.first = first, .count = std::min(tile_.keys, n_ - first)});
    }
  }

  void Clear() {
    std::ranges::fill(fast_.o.values, 0.0F);
    std::ranges::fill(fast_.l.values, 0.0F);
    std::ranges::fill(fast_.m.values, kMinusInfinity);
  }

  void Block(Rung rung) {
    switch (rung) {
      case Rung::kThreePass:
        return ThreePass(/*safe=*/false);
      case Rung::kSafeThreePass:
        return ThreePass(/*safe=*/true);
      case Rung::kFusedUnsafe:
        return FusedUnsafe();
      case Rung::kOnlineTwoPass:
        return OnlineTwoPass();
      case Rung::kOnePass:
        return OnePass();
    }
  }

  void ThreePass(bool safe) {
    Sweep([&](Keys keys) {
      Scores(keys);
      if (safe) {
        ForRows([&](std::int64_t i) { m(i) = std::max(m(i), Largest(i, keys)); });
      }
      tiers_.Store(fast_.x, TableWindow(keys), scores_);
    });
    Sweep([&](Keys keys) {
      tiers_.Load(scores_, TableWindow(keys), fast_.x);
      ForRows([&](std::int64_t i) { l(i) += Weights(i, keys, safe ? m(i) : 0.0F); });
      tiers_.Store(fast_.x, TableWindow(keys), weights_);
    });
    Sweep([&](Keys keys) {
      tiers_.Load(weights_, TableWindow(keys), fast_.x);
      LoadValues(keys);
      ForRows([&](std::int64_t i) { AddValues(i, keys, 1.0F / l(i)); });
    });
  }

  void FusedUnsafe() {
    Sweep([&](Keys keys) {
      Scores(keys);
      LoadValues(keys);
      ForRows([&](std::int64_t i) {
        l(i) += Weights(i, keys, 0.0F);
        AddValues(i, keys, 1.0F);
      });
    });
    ForRows([&](std::int64_t i) { Rescale(1.0F / l(i), d_, fast_.o.row(i), done_); });
  }

  // m and l after these keys, whose weights are left in x; what the old l is worth under the new m.
  float Advance(std::int64_t i, Keys keys) {
    const float m_old = m(i);
    m(i) = std::max(m_old, Largest(i, keys));
    const float kept = l(i) * Exp(m_old - m(i));
    l(i) = kept + Weights(i, keys, m(i));
    done_.others += 2;
    return kept;
  }

  void OnlineTwoPass() {
    Sweep([&](Keys keys) {
      Scores(keys);
      ForRows([&](std::int64_t i) { Advance(i, keys); });
    });
    Sweep([&](Keys keys) {
      Scores(keys);
      LoadValues(keys);
      ForRows([&](std::int64_t i) {
        Weights(i, keys, m(i));
        AddValues(i, keys, 1.0F / l(i));
      });
    });
  }

  void OnePass() {
    Sweep([&](Keys keys) {
      Scores(keys);
      LoadValues(keys);
      ForRows([&](std::int64_t i) {
        const float kept = Advance(i, keys);
        Rescale(kept / l(i), d_, fast_.o.row(i), done_);
        AddValues(i, keys, 1.0F / l(i));
      });
    });
  }

  template <typename Body>
  void ForRows(const Body& body) {
    for (std::int64_t i = 0; i < rows_; ++i) body(i);
  }

  float& m(std::int64_t i) { return *fast_.m.row(i); }
  float& l(std::int64_t i) { return *fast_.l.row(i); }

  Window TableWindow(Keys keys) const {
    return {.row = first_, .col = keys.first, .rows = rows_, .cols = keys.count};
  }

  void LoadValues(Keys keys) {
    tiers_.Load(v_, {.row = keys.first, .rows = keys.count, .cols = d_}, fast_.v);
  }

  void Scores(Keys keys) {
    tiers_.Load(k_, {.row = keys.first, .rows = keys.count, .cols = d_}, fast_.k);
    ForRows([&](std::int64_t i) {
      for (std::int64_t j = 0; j < keys.count; ++j) {
        const float dot = Dot(fast_.q.row(i), fast_.k.row(j), d_, done_);
        fast_.x.row(i)[j] = tiers_.Half(scale_ * dot);
      }
      done_.others += keys.count;
    });
  }

  float Largest(std::int64_t i, Keys keys) {
    const float* x = fast_.x.row(i);
    float largest = kMinusInfinity;
    for (std::int64_t j = 0; j < keys.count; ++j) largest = std::max(largest, x[j]);
    done_.others += keys.count;
    return largest;
  }

  float Exp(float x) {
    ++done_.exponentials;
    return std::exp(x);
  }

  // Row i's scores become weights exp(x - base), in FP16; their sum.
  float Weights(std::int64_t i, Keys keys, float base) {
    float* x = fast_.x.row(i);
    float sum = 0;
    for (std::int64_t j = 0; j < keys.count; ++j) {
      x[j] = tiers_.Half(Exp(x[j] - base));
      sum += x[j];
    }
    done_.others += 2 * keys.count;
    return sum;
  }

  void AddValues(std::int64_t i, Keys keys, float factor) {
    const float* weights = fast_.x.row(i);
    for (std::int64_t j = 0; j < keys.count; ++j) {
      AddScaled(weights[j] * factor, fast_.v.row(j), d_, fast_.o.row(i), done_);
    }
    done_.others += keys.count;
  }

  RungResult Take(std::int64_t blocks) {
    const auto reads = [blocks](const SlowMatrix& matrix) {
      return static_cast<std::int64_t>(matrix.bytes_read / matrix.bytes()) / blocks;
    };
    RungResult result{.out = std::move(out_.values),
                      .passes = sweeps_ / blocks,
                      .k_reads = reads(k_),
                      .v_reads = reads(v_),
                      .traffic = tiers_.traffic(),
                      .kv_bytes = k_.bytes_read + v_.bytes_read,
                      .peak_bytes = tiers_.peak_bytes(),
                      .operations = done_,
                      .overflows = tiers_.overflows()};
    for (const SlowMatrix* table : {&scores_, &weights_}) {
      result.table_bytes += table->bytes_read + table->bytes_written;
    }
    return result;
  }

  std::int64_t n_;
  std::int64_t d_;
  Tile tile_;
  float scale_;
  SlowMatrix q_, k_, v_, out_;
  SlowMatrix scores_, weights_;  // n x n, on the rungs that keep them
  TwoTiers tiers_;
  Buffers fast_;
  std::int64_t first_ = 0;  // query row of the block at hand
  std::int64_t rows_ = 0;   // of it
  std::int64_t sweeps_ = 0;
  Operations done_;
};

}  // namespace

std::string_view RungName(Rung rung) {
  switch (rung) {
    case Rung::kThreePass:
      return "three-pass";
    case Rung::kSafeThreePass:
      return "safe three-pass";
    case Rung::kFusedUnsafe:
      return "fused, unsafe";
    case Rung::kOnlineTwoPass:
      return "online two-pass";
    case Rung::kOnePass:
      break;
  }
  return "one pass";
}

std::int64_t LargestTile(std::int64_t head_dim, std::uint64_t fast_bytes, std::int64_t most) {
  std::int64_t largest = 0;
  for (std::int64_t rows = 1; rows <= most; rows *= 2) {
    TwoTiers tiers(fast_bytes);
    Buffers::Claim(tiers, {.queries = rows, .keys = rows}, head_dim);
    if (!tiers.Fits()) break;
    largest = rows;
  }
  return largest;
}

Result<RungResult> RunRung(Rung rung, const AttentionInputs& inputs, Tile tile,
                           std::uint64_t fast_bytes) {
  return RungRun(inputs, tile, fast_bytes).Run(rung);
}

}  // namespace folio
