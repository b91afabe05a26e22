#include "folio/lab_moe_growth.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>

#include "cpu/machine.h"
#include "folio/lab_moe_layer.h"
#include "folio/median.h"
#include "kernels/product.h"
#include "quant/half.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr std::array<GgmlType, 5> kTypes = {GgmlType::kQ4_0, GgmlType::kQ8_0, GgmlType::kMXFP4,
                                            GgmlType::kBF16, GgmlType::kF32};
constexpr std::size_t kRows = 512;  // tokens, taken in turn
constexpr int kRounds = 5;
constexpr int kWarmUps = 16;
constexpr int kTimed = 64;

std::size_t ExpertBytes(const MoeSetting& setting) {
  return 2 * PackedBytes(setting.type, setting.expert_ffn, setting.hidden) +
         PackedBytes(setting.type, setting.hidden, setting.expert_ffn);
}

std::size_t RouterBytes(const MoeSetting& setting, int experts) {
  return PackedBytes(GgmlType::kBF16, experts, setting.hidden);
}

// A small weight or, for the types with blocks, a scale that makes them so.
void WriteNumber(GgmlType type, float value, std::byte* at) {
  constexpr std::byte kSmallExponent{121};  // 2^-6, as MXFP4 has it
  if (type == GgmlType::kF32) {
    std::memcpy(at, &value, sizeof(value));
  } else if (type == GgmlType::kMXFP4) {
    *at = kSmallExponent;
  } else {
    const std::uint16_t bits = type == GgmlType::kBF16 ? FloatToBf16(value) : FloatToHalf(value);
    std::memcpy(at, &bits, sizeof(bits));
  }
}

// Rows as GGUF has them: random codes, and numbers of a size that keeps activations small.
std::vector<std::byte> RandomRows(GgmlType type, std::int64_t n, std::int64_t k,
                                  std::uint64_t seed) {
  const auto block = static_cast<std::size_t>(TypeInfo(type).block_bytes);
  std::vector<std::byte> rows(static_cast<std::size_t>(n * FileRowBytes(type, k)));
  std::uint64_t bits = seed;
  for (std::byte& byte : rows) {
    bits = MixBits(bits);
    byte = static_cast<std::byte>(bits);
  }
  for (std::size_t at = 0; at < rows.size(); at += block) {
    const double uniform = UniformAt(seed, 1, static_cast<std::int64_t>(at));
    WriteNumber(type, static_cast<float>(0.02 * (uniform - 0.5)), rows.data() + at);
  }
  return rows;
}

// Packs one expert's three matrices at `to`.
void PackExpert(const MoeSetting& setting, std::byte* to) {
  const auto pack = [&](std::int64_t n, std::int64_t k, std::uint64_t seed) {
    PackRows(setting.type, RandomRows(setting.type, n, k, seed).data(), n, k, to);
    to += PackedBytes(setting.type, n, k);
  };
  pack(setting.expert_ffn, setting.hidden, 1);
  pack(setting.expert_ffn, setting.hidden, 2);
  pack(setting.hidden, setting.expert_ffn, 3);
}

FfnWeights ExpertAt(const MoeSetting& setting, const std::byte* at) {
  const PackedMatrix up{
      .type = setting.type, .n = setting.expert_ffn, .k = setting.hidden, .data = at};
  const std::size_t up_bytes = PackedBytes(setting.type, up.n, up.k);
  FfnWeights expert{.gate = up, .up = up};
  expert.up.data = at + up_bytes;
  expert.down = {.type = setting.type,
                 .n = setting.hidden,
                 .k = setting.expert_ffn,
                 .data = at + 2 * up_bytes};
  return expert;
}

// Seconds of one thread's own time, so that other processes don't count; of several by the clock.
double Now(int threads) {
  timespec now;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Times tokens of one number of experts, one after another.
class GrowthRun {
 public:
  static Result<GrowthRun> Create(const MoeSetting& setting, const ExpertStore& store,
                                  const ExpertSizes& sizes, ThreadPool& pool) {
    GrowthRun run(pool.size(), static_cast<std::size_t>(setting.hidden));
    const RouterConfig router{.experts = sizes.experts, .top_k = sizes.top_k};
    Result<std::unique_ptr<LabMoe>> layer =
        LabMoe::Create(setting.hidden, setting.expert_ffn, router, 1, setting.isa, pool);
    if (!layer) return std::unexpected(layer.error());
    run.layer_ = *std::move(layer);
    for (int i = 0; i < store.Layers(sizes.experts); ++i)
      run.weights_.push_back(store.Layer(sizes.experts, i));
    return run;
  }

  // Of the first layer alone, or of all of them in turn.
  void Time(std::span<const float> tokens, bool in_turn) {
    const std::size_t layers = in_turn ? weights_.size() : 1;
    for (int i = 0; i < kWarmUps + kTimed; ++i) {
      const double seconds = RunToken(tokens, weights_[next_ % layers]);
      if (i >= kWarmUps) (in_turn ? in_turn_ : one_layer_).push_back(seconds);
    }
  }

  double one_layer_seconds() const { return Median(one_layer_); }
  double in_turn_seconds() const { return Median(in_turn_); }

 private:
  GrowthRun(int threads, std::size_t hidden) : threads_(threads), out_(hidden) {}

  double RunToken(std::span<const float> tokens, const MoeWeights& weights) {
    const std::size_t row = next_++ % kRows;
    const double start = Now(threads_);
    layer_->Run(weights, tokens.subspan(row * out_.size(), out_.size()), out_);
    return Now(threads_) - start;
  }

  int threads_;
  std::unique_ptr<LabMoe> layer_;
  std::vector<MoeWeights> weights_;
  std::vector<float> out_;
  std::size_t next_ = 0;  // runs so far: a token and, in turn, a layer each
  std::vector<double> one_layer_;
  std::vector<double> in_turn_;
};

}  // namespace

Result<GgmlType> GrowthType(const std::string& name) {
  std::string names;
  for (const GgmlType type : kTypes) {
    const std::string known(TypeInfo(type).name);
    if (name == known) return type;
    names += (names.empty() ? "" : ", ") + known;
  }
  return UsageError("lab moe", "--type", "'" + name + "' is none of " + names);
}

std::size_t ExpertStore::Bytes(const MoeSetting& setting) {
  return static_cast<std::size_t>(kGrowthExperts.back()) * ExpertBytes(setting) +
         RouterBytes(setting, kGrowthExperts.back());
}

ExpertStore::ExpertStore(const MoeSetting& setting) : hidden_(setting.hidden) {}

Result<ExpertStore> ExpertStore::Create(const MoeSetting& setting) {
  if (Bytes(setting) > AvailableMemory()) {
    return RuntimeError("lab moe", "--hidden, --expert-ffn and --type",
                        "the largest layer takes " + HumanBytes(Bytes(setting)) + ", and " +
                            HumanBytes(AvailableMemory()) + " of memory are free");
  }
  ExpertStore store(setting);
  const std::size_t each = ExpertBytes(setting);
  Result<AlignedBuffer> experts =
      AlignedBuffer::Create(each * static_cast<std::size_t>(kGrowthExperts.back()), "experts");
  if (!experts) return std::unexpected(experts.error());
  Result<AlignedBuffer> router =
      AlignedBuffer::Create(RouterBytes(setting, kGrowthExperts.back()), "router");
  if (!router) return std::unexpected(router.error());
  store.experts_bytes_ = *std::move(experts);
  store.router_bytes_ = *std::move(router);
  const std::byte* const first = store.experts_bytes_.data();
  PackExpert(setting, store.experts_bytes_.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(kGrowthExperts.back()); ++i) {
    if (i > 0) std::memcpy(store.experts_bytes_.data() + i * each, first, each);
    store.experts_.push_back(ExpertAt(setting, first + i * each));
  }
  std::vector<std::uint16_t> rows;
  for (const float value :
       NormalValues(static_cast<std::size_t>(kGrowthExperts.back() * setting.hidden), 0, 0)) {
    rows.push_back(FloatToBf16(value));
  }
  PackRows(GgmlType::kBF16, std::as_bytes(std::span(rows)).data(), kGrowthExperts.back(),
           setting.hidden, store.router_bytes_.data());
  return store;
}

MoeWeights ExpertStore::Layer(int experts, int layer) const {
  const std::int64_t all = kGrowthExperts.back() / kStripRows;
  const std::int64_t own = (experts + kStripRows - 1) / kStripRows;
  // Layers of fewer experts than a strip has rows are more than there are strips: some share one.
  const auto strip = static_cast<std::size_t>(layer * own % (all - own + 1));
  MoeWeights weights;
  weights.router = {
      .type = GgmlType::kBF16,
      .n = experts,
      .k = hidden_,
      .data = router_bytes_.data() + strip * PackedStripBytes(GgmlType::kBF16, hidden_)};
  const auto first = experts_.begin() + std::ptrdiff_t{experts} * layer;
  weights.experts.assign(first, first + experts);
  return weights;
}

std::vector<GrowthPoint> CountGrowth(const MoeSetting& setting) {
  std::vector<GrowthPoint> points;
  for (const int experts : kGrowthExperts) {
    const ExpertSizes sizes{.hidden = setting.hidden,
                            .expert_ffn = setting.expert_ffn,
                            .experts = experts,
                            .top_k = kGrowthTopK};
    const std::uint64_t router = RouterBytes(setting, experts);
    points.push_back(
        {.sizes = sizes,
         .parameters = LayerParameters(sizes),
         .total_bytes = router + static_cast<std::uint64_t>(experts) * ExpertBytes(setting),
         .router_bytes = router,
         .token_bytes = router + kGrowthTopK * ExpertBytes(setting)});
  }
  return points;
}

Status MeasureGrowth(const MoeSetting& setting, ThreadPool& pool,
                     std::vector<GrowthPoint>& points) {
  const Result<ExpertStore> store = ExpertStore::Create(setting);
  if (!store) return std::unexpected(store.error());
  std::vector<GrowthRun> runs;
  for (const GrowthPoint& point : points) {
    Result<GrowthRun> run = GrowthRun::Create(setting, *store, point.sizes, pool);
    if (!run) return std::unexpected(run.error());
    runs.push_back(*std::move(run));
  }
  const std::vector<float> tokens =
      NormalValues(kRows * static_cast<std::size_t>(setting.hidden), 0, 1);
  for (int round = 0; round < kRounds; ++round) {
    for (GrowthRun& run : runs) {
      run.Time(tokens, false);
      run.Time(tokens, true);
    }
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].one_layer_seconds = runs[i].one_layer_seconds();
    points[i].in_turn_seconds = runs[i].in_turn_seconds();
  }
  return {};
}

}  // namespace folio
