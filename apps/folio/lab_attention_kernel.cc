// The engine's own attention kernel on the ladder's inputs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "cpu/aligned_buffer.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "folio/lab_attention.h"
#include "folio/lab_attention_pages.h"
#include "folio/text_table.h"
#include "kernels/attention.h"
#include "kvcache/kv_sizing.h"

namespace folio {
namespace {

// The kernel is causal; the ladder is not. A query head at the last position sees every key, so the
// queries come as heads of one KV head at that position, as many as share a KV tile in prefill.
constexpr std::int64_t kQueries = 64;

// Measured with so much fast memory, beside the ladder's last rung with the kernel's tile.
struct KernelTraffic {
  std::uint64_t fast_bytes = 0;
  std::uint64_t kernel_bytes = 0;  // of K and V, in whole pages
};

struct KernelRun {
  OutputDifference difference;
  double seconds = 0;  // the best of some
  std::vector<KernelTraffic> traffic;
};

class Kernel {
 public:
  static Result<Kernel> Create(Isa isa, KvType type, const AttentionInputs& inputs) {
    Kernel kernel(isa, type, inputs);
    const KvSpec spec{.layers = {{.kv_heads = 1, .head_dim = static_cast<int>(inputs.head_dim)}}};
    const Result<KvLayout> layout = LayOutKvBlock(spec, type, kKvTileTokens);
    if (!layout) return std::unexpected(layout.error());
    kernel.blocks_.resize(static_cast<std::size_t>(BlocksForTokens(inputs.tokens, kKvTileTokens)));
    std::iota(kernel.blocks_.begin(), kernel.blocks_.end(), 0);
    Result<AlignedBuffer> arena =
        AlignedBuffer::Create(layout->block_bytes * kernel.blocks_.size(), "lab attention");
    if (!arena) return std::unexpected(arena.error());
    kernel.arena_ = *std::move(arena);
    kernel.view_ = {.base = kernel.arena_.data(),
                    .block_stride = static_cast<std::int64_t>(layout->block_bytes),
                    .layer_offset = static_cast<std::int64_t>(layout->layers[0].offset),
                    .head_stride = static_cast<std::int64_t>(layout->layers[0].head_stride),
                    .v_offset = static_cast<std::int64_t>(layout->layers[0].v_offset),
                    .block_size = kKvTileTokens,
                    .kv_heads = 1,
                    .head_dim = static_cast<int>(inputs.head_dim),
                    .type = type};
    return kernel;
  }

  void Store(ThreadPool& pool) {
    const AttentionSequence all{.block_table = blocks_.data(), .rows = inputs_.tokens};
    StoreKv(isa_, view_, {&all, 1}, inputs_.k.data(), inputs_.v.data(), pool);
  }

  std::span<std::byte> stored() const { return arena_.bytes(); }

  Status Attend(std::vector<float>& out, ThreadPool& pool) {
    const std::int64_t whole = inputs_.tokens / kQueries;
    if (const Status done = Heads(0, whole, kQueries, out, pool); !done) return done;
    return Heads(whole * kQueries, 1, inputs_.tokens % kQueries, out, pool);
  }

 private:
  Kernel(Isa isa, KvType type, const AttentionInputs& inputs) : isa_(isa), inputs_(inputs) {
    view_.type = type;
  }

  // Queries from `first` on, in `units` sequences of one row of `heads` heads.
  Status Heads(std::int64_t first, std::int64_t units, std::int64_t heads, std::vector<float>& out,
               ThreadPool& pool) {
    if (units == 0 || heads == 0) return {};
    std::vector<AttentionSequence> sequences;
    for (std::int64_t unit = 0; unit < units; ++unit) {
      sequences.push_back({.block_table = blocks_.data(),
                           .first_position = inputs_.tokens - 1,
                           .first_row = unit,
                           .rows = 1});
    }
    const AttentionParams params{.query_heads = static_cast<int>(heads),
                                 .scale = 1.0F / std::sqrt(static_cast<float>(inputs_.head_dim))};
    const Result<AlignedBuffer> workspace = AlignedBuffer::Create(
        AttentionWorkspaceBytes(view_, params, sequences, pool.size()), "lab attention");
    if (!workspace) return std::unexpected(workspace.error());
    const std::int64_t offset = first * inputs_.head_dim;
    Attention(isa_, view_, params, sequences, inputs_.q.data() + offset, out.data() + offset,
              workspace->bytes(), pool);
    return {};
  }

  Isa isa_;
  const AttentionInputs& inputs_;
  std::vector<std::int32_t> blocks_;
  AlignedBuffer arena_;
  KvView view_;
};

std::vector<std::uint64_t> FastSizes(const AttentionSetting& setting) {
  return {setting.fast_bytes / 12, setting.fast_bytes};
}

Result<KernelRun> RunKernel(Isa isa, KvType type, const AttentionSetting& setting,
                            const Ladder& ladder, ThreadPool& pool) {
  using Clock = std::chrono::steady_clock;
  Result<Kernel> kernel = Kernel::Create(isa, type, ladder.inputs);
  if (!kernel) return std::unexpected(kernel.error());
  kernel->Store(pool);
  std::vector<float> out(ladder.inputs.q.size());
  KernelRun run;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    if (const Status done = kernel->Attend(out, pool); !done) return std::unexpected(done.error());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    run.seconds = round == 0 ? seconds : std::min(run.seconds, seconds);
  }
  for (const std::uint64_t fast_bytes : FastSizes(setting)) {
    const auto trace = PageTrace::Start(kernel->stored(), fast_bytes);
    if (!trace) return std::unexpected(trace.error());
    if (const Status done = kernel->Attend(out, pool); !done) return std::unexpected(done.error());
    run.traffic.push_back(
        {.fast_bytes = (*trace)->fast_bytes(), .kernel_bytes = (*trace)->bytes_read()});
  }
  run.difference = CompareOutput(out, ladder.reference, ladder.inputs.head_dim);
  return run;
}

}  // namespace

Result<LabStep> AttentionKernel(const AttentionSetting& setting, const Ladder& ladder) {
  const Result<Isa> isa = ChooseIsa();
  if (!isa) return std::unexpected(isa.error());
  ThreadPool pool(1);  // the trace follows one thread
  const Tile tile{.queries = kQueries, .keys = kAttentionTile};
  const Result<RungResult> counted =
      RunRung(Rung::kOnePass, ladder.inputs, tile, std::uint64_t{1} << 20);
  if (!counted) return std::unexpected(counted.error());
  LabStep step{.id = "kernel",
               .title = "the engine's own kernel on the same inputs (" +
                        std::string(IsaName(*isa)) + ", one thread)"};
  TextTable table("lrrrr");
  table.Add({"K and V as", "fast memory", "bytes of K and V read", "ms", "difference"});
  step.facts = {{"isa", IsaName(*isa)},
                {"query_rows", tile.queries},
                {"key_rows", tile.keys},
                {"counted_kv_bytes", counted->kv_bytes},
                {"runs", OutputJson::array()}};
  for (const KvType type : {KvType::kF16, KvType::kBf16}) {
    const Result<KernelRun> run = RunKernel(*isa, type, setting, ladder, pool);
    if (!run) return std::unexpected(run.error());
    const std::string difference = Significant(run->difference.largest, 2);
    OutputJson traffic = OutputJson::array();
    for (const KernelTraffic& measured : run->traffic) {
      const bool first = traffic.empty();
      table.Add({first ? std::string(KvTypeName(type)) : "", HumanBytes(measured.fast_bytes),
                 Grouped(measured.kernel_bytes), first ? Decimal(1e3 * run->seconds, 3) : "",
                 first ? difference : ""});
      traffic.push_back({{"fast_bytes", measured.fast_bytes}, {"kv_bytes", measured.kernel_bytes}});
    }
    step.facts["runs"].push_back({{"kv_type", KvTypeName(type)},
                                  {"seconds", run->seconds},
                                  {"rows_lost", run->difference.rows_lost},
                                  {"largest_difference", run->difference.largest},
                                  {"traffic", std::move(traffic)}});
  }
  step.lines = table.Lines();
  step.lines.push_back("the ladder's last rung with the kernel's tile, " +
                       std::to_string(tile.queries) + " queries x " + std::to_string(tile.keys) +
                       " keys, counts " + Grouped(counted->kv_bytes) + " bytes of K and V");
  step.lines.emplace_back(
      "The kernel's bytes are measured, not derived: its pages of K and V are out of reach until "
      "it touches them, and only as many as the fast memory holds are in reach at a time; the one "
      "that came first goes first. Where all of K and V fits, it comes once. The kernel is causal, "
      "so the queries are given as heads at the last position, which sees every key.");
  return step;
}

}  // namespace folio
