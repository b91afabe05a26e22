// Attention, StoreKv and the row-wise operations at the shapes of real models.
//
//   FOLIO_ISA=... attention_bench [threads]      (Google Benchmark's flags work too)
//
// All rates are per second of CPU time of the whole process (a shared machine makes wall time
// meaningless), so with two threads they are rates of one. Prefill reports Gflop/s (4 * head_dim
// flops per query and visible key), their share of what a loop of nothing but FMAs reaches, and the
// CPU milliseconds of a whole model's layers; decode reports the rate at which K and V are read.
#include <benchmark/benchmark.h>

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "cpu/aligned_buffer.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"

namespace folio {
namespace {

struct Model {
  const char* name;
  int layers;
  int query_heads;
  int kv_heads;
  int head_dim;
};

constexpr Model kSmolLm2{"SmolLM2-135M", 30, 9, 3, 64};
constexpr Model kQwen3{"Qwen3-0.6B", 28, 16, 8, 128};
constexpr Model kGemma3{"Gemma-3-270M", 18, 4, 1, 256};

// A cache of `layers` layers filled with random keys and values for one sequence of `length`.
class Cache {
 public:
  Cache(const Model& model, int layers, KvType type, std::int64_t length, ThreadPool& pool) {
    const auto tile = static_cast<std::int64_t>(KvTileBytes(type, model.head_dim));
    view_ = {.block_stride = model.layers * model.kv_heads * 2 * tile,
             .head_stride = 2 * tile,
             .v_offset = tile,
             .block_size = kKvTileTokens,
             .kv_heads = model.kv_heads,
             .head_dim = model.head_dim,
             .type = type};
    const std::int64_t blocks = (length + kKvTileTokens - 1) / kKvTileTokens;
    arena_ = *AlignedBuffer::Create(static_cast<std::size_t>(blocks * view_.block_stride), "cache");
    view_.base = arena_.data();
    for (std::int64_t i = 0; i < blocks; ++i) table_.push_back(static_cast<std::int32_t>(i));
    sequence_ = {.block_table = table_.data(), .rows = length};
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> rows(static_cast<std::size_t>(length * model.kv_heads * model.head_dim));
    for (float& value : rows) value = normal(random);
    for (int layer = 0; layer < layers; ++layer) {
      StoreKv(Isa::kScalar, Layer(layer), {&sequence_, 1}, rows.data(), rows.data(), pool);
    }
  }

  KvView Layer(int layer) const {
    KvView view = view_;
    view.layer_offset = layer * view.kv_heads * view.head_stride;
    return view;
  }
  // The last `rows` positions.
  AttentionSequence Last(std::int64_t rows) const {
    AttentionSequence sequence = sequence_;
    sequence.first_position = sequence_.rows - rows;
    sequence.rows = rows;
    return sequence;
  }

 private:
  AlignedBuffer arena_;
  KvView view_;
  std::vector<std::int32_t> table_;
  AttentionSequence sequence_;
};

// Flop/s of one thread in a loop of nothing but FMAs: 16 independent chains.
__attribute__((target("avx512f"))) double FmaRun512(std::int64_t loops) {
  __m512 chains[16];
  for (__m512& chain : chains) chain = _mm512_set1_ps(1.0F);
  const __m512 factor = _mm512_set1_ps(0.5F);
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 16
    for (__m512& chain : chains) chain = _mm512_fmadd_ps(chain, factor, factor);
  }
  benchmark::DoNotOptimize(chains);
  return static_cast<double>(loops) * 16 * 16 * 2;
}

__attribute__((target("avx2,fma"))) double FmaRun256(std::int64_t loops) {
  __m256 chains[12];
  for (__m256& chain : chains) chain = _mm256_set1_ps(1.0F);
  const __m256 factor = _mm256_set1_ps(0.5F);
  for (std::int64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 12
    for (__m256& chain : chains) chain = _mm256_fmadd_ps(chain, factor, factor);
  }
  benchmark::DoNotOptimize(chains);
  return static_cast<double>(loops) * 12 * 8 * 2;
}

// The best of several short runs, by the thread's CPU time.
double FmaPeak(Isa isa) {
  double best = 0.0;
  for (int run = 0; run < 20; ++run) {
    const std::clock_t start = std::clock();
    const double flops = isa == Isa::kAvx512 ? FmaRun512(1 << 20) : FmaRun256(1 << 20);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    best = std::max(best, flops / seconds);
  }
  return best;
}

void RunAttention(benchmark::State& state, const Model& model, KvType type, Isa isa,
                  std::int64_t length, std::int64_t rows, double peak, ThreadPool& pool) {
  const bool decode = rows == 1;
  // Decode of one layer after another reads each layer's keys from memory, as a model does.
  const int layers = decode ? model.layers : 1;
  const Cache cache(model, layers, type, length, pool);
  const AttentionParams params{.query_heads = model.query_heads,
                               .scale = 1.0F / std::sqrt(static_cast<float>(model.head_dim))};
  const AttentionSequence sequence = cache.Last(rows);
  const std::int64_t width = model.query_heads * model.head_dim;
  std::vector<float> q(static_cast<std::size_t>(rows * width), 0.25F);
  std::vector<float> out(q.size());
  const AlignedBuffer workspace = *AlignedBuffer::Create(
      AttentionWorkspaceBytes(cache.Layer(0), params, {&sequence, 1}, pool.size()), "workspace");
  for (auto _ : state) {
    for (int layer = 0; layer < layers; ++layer) {
      Attention(isa, cache.Layer(layer), params, {&sequence, 1}, q.data(), out.data(),
                workspace.bytes(), pool);
    }
  }
  double keys = 0.0;
  for (std::int64_t row = 0; row < rows; ++row) {
    keys += static_cast<double>(sequence.first_position + row + 1);
  }
  const double iterations = static_cast<double>(state.iterations()) * layers;
  if (decode) {
    const double bytes = static_cast<double>(length) * model.kv_heads * 2 *
                         static_cast<double>(KvTileBytes(type, model.head_dim)) / kKvTileTokens;
    state.counters["GB/s"] =
        benchmark::Counter(bytes * iterations / 1e9, benchmark::Counter::kIsRate);
    state.counters["us/layer"] = benchmark::Counter(
        iterations / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    return;
  }
  const double flops = 4.0 * keys * model.head_dim * model.query_heads;
  state.counters["Gflop/s"] =
      benchmark::Counter(flops * iterations / 1e9, benchmark::Counter::kIsRate);
  state.counters["of_peak"] =
      benchmark::Counter(flops * iterations / peak, benchmark::Counter::kIsRate);
  state.counters["ms/model"] = benchmark::Counter(
      iterations / model.layers / 1e3, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void RunStore(benchmark::State& state, const Model& model, KvType type, Isa isa, std::int64_t rows,
              ThreadPool& pool) {
  const Cache cache(model, 1, type, 512 + rows, pool);
  const AttentionSequence sequence = cache.Last(rows);
  const std::vector<float> kv(static_cast<std::size_t>(rows * model.kv_heads * model.head_dim),
                              0.25F);
  for (auto _ : state) StoreKv(isa, cache.Layer(0), {&sequence, 1}, kv.data(), kv.data(), pool);
  state.counters["us/row"] =
      benchmark::Counter(static_cast<double>(state.iterations() * rows) * 1e-6,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void RegisterRowWise(Isa isa) {
  static const std::vector<float> a(4096, 0.5F);
  static std::vector<float> out(4096);
  benchmark::RegisterBenchmark("RmsNorm/576", [isa](benchmark::State& state) {
    for (auto _ : state) RmsNorm(isa, a.data(), a.data(), 576, 1e-5F, out.data());
  });
  benchmark::RegisterBenchmark("SiluMul/1536", [isa](benchmark::State& state) {
    for (auto _ : state) SiluMul(isa, a.data(), a.data(), 1536, out.data());
  });
  benchmark::RegisterBenchmark("GeluMul/2048", [isa](benchmark::State& state) {
    for (auto _ : state) GeluMul(isa, a.data(), a.data(), 2048, out.data());
  });
  benchmark::RegisterBenchmark("RotateHead/64", [isa](benchmark::State& state) {
    std::vector<float> head(64, 0.5F);
    for (auto _ : state) {
      RotateHead(isa, RopePairs::kHalves, a.data(), a.data(), 64, head.data());
    }
  });
}

void RegisterAll(Isa isa, double peak, ThreadPool& pool) {
  for (const Model& model : {kSmolLm2, kQwen3, kGemma3}) {
    for (const KvType type : {KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0}) {
      const std::string suffix =
          "/" + std::string(model.name) + "/" + std::string(KvTypeName(type));
      for (const std::int64_t rows : {512, 4096}) {
        benchmark::RegisterBenchmark(("Prefill" + suffix + "/" + std::to_string(rows)).c_str(),
                                     [=, &pool](benchmark::State& state) {
                                       RunAttention(state, model, type, isa, rows, rows, peak,
                                                    pool);
                                     })
            ->MeasureProcessCPUTime()
            ->Unit(benchmark::kMillisecond);
      }
      for (const std::int64_t depth : {128, 512, 4096, 16384}) {
        benchmark::RegisterBenchmark(("Decode" + suffix + "/" + std::to_string(depth)).c_str(),
                                     [=, &pool](benchmark::State& state) {
                                       RunAttention(state, model, type, isa, depth, 1, peak, pool);
                                     })
            ->MeasureProcessCPUTime()
            ->Unit(benchmark::kMicrosecond);
      }
      for (const std::int64_t rows : {1, 512}) {
        benchmark::RegisterBenchmark(
            ("StoreKv" + suffix + "/" + std::to_string(rows)).c_str(),
            [=, &pool](benchmark::State& state) { RunStore(state, model, type, isa, rows, pool); })
            ->MeasureProcessCPUTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
  RegisterRowWise(isa);
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const ScopedFlushDenormals flush;
  ThreadPool pool(argc > 1 ? std::atoi(argv[1]) : 2);
  const Result<Isa> isa = ChooseIsa();
  if (!isa) {
    std::fprintf(stderr, "%s\n", isa.error().Message().c_str());
    return static_cast<int>(isa.error().kind);
  }
  RegisterAll(*isa, FmaPeak(*isa), pool);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace folio

int main(int argc, char** argv) { return folio::Main(argc, argv); }
