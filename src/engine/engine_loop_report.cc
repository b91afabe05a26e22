// What the loop tells about itself: why a prompt missed, where tokens were routed, and its state at
// one moment.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "engine/active_request.h"
#include "engine/engine_loop.h"

namespace folio {
namespace {

// How often the waiting are told: looking through them takes time.
constexpr std::int64_t kProgressNs = 250'000'000;

RequestSnapshot SnapshotOf(const Sequence& sequence) {
  return {.id = RequestOf(sequence.id),
          .choice = static_cast<int>(ChoiceOf(sequence.id)),
          .state = sequence.state == SequenceState::kWaiting ? "waiting"
                   : sequence.waits_for != 0                 ? "waiting for a block in flight"
                                                             : "running",
          .tokens = sequence.chain.size(),
          .computed = sequence.blocks.computed,
          .block_tables = sequence.blocks.tables};
}

std::vector<BlockSnapshot> BlocksOf(const BlockPool& pool) {
  std::vector<BlockSnapshot> blocks;
  for (BlockId id = 0; id < pool.num_blocks(); ++id) {
    const KvBlock& block = pool.block(id);
    if (block.ref_cnt == 0 && !block.hashed) continue;
    blocks.push_back({.id = id,
                      .ref_count = block.ref_cnt,
                      .hashed = block.hashed,
                      .hash = block.hashed ? HexOf(block.block_hash) : std::string(),
                      .group = block.group});
  }
  return blocks;
}

}  // namespace

// Blocks that others are just computing don't count yet: they may still fail.
void EngineLoop::TellArrival(ActiveRequest& request, const TokenChain& chain) {
  const std::vector<std::int32_t>& prompt = request.request.prompt;
  const std::int64_t cached = model_->cache().MatchedTokens(chain);
  request.found_tokens = cached;
  if (!model_->options().prefix_cache) {
    request.sink->OnArrival(
        {.cause = MissCause::kOff, .prompt_tokens = static_cast<std::int64_t>(prompt.size())});
    return;
  }
  const std::size_t blocks = prompt.size() / static_cast<std::size_t>(model_->options().block_size);
  request.sink->OnArrival(prompt_log_.Explain(chain.root(), prompt, chain.hashes().first(blocks),
                                              request.request.parts, cached));
}

// Prompts are computed one after another: those that run, then those that wait. Where all places
// are taken, or blocks are wanting, the waiting have to wait for replies to end as well.
void EngineLoop::TellProgress(std::int64_t now_ns) {
  std::int64_t rows_before = 0;
  for (const Sequence* sequence : scheduler_.running()) {
    if (!Owner(*sequence).started) rows_before += sequence->remaining();
  }
  const std::int64_t running = scheduler_.num_running();
  const bool wait_for_ends = rows_before == 0 || running >= options_.max_requests;
  const auto until_start = [&](std::int64_t ends) {
    return wait_for_ends ? forecast_.EndSeconds(ends, running) : std::optional<double>(0);
  };
  seconds_until_room_ =
      until_start(1).value_or(0) + forecast_.PromptSeconds(rows_before).value_or(0);
  if (now_ns - told_progress_ns_ < kProgressNs) return;
  told_progress_ns_ = now_ns;
  rows_before = 0;
  for (const Sequence* sequence : scheduler_.running()) TellProgressOf(*sequence, 0, rows_before);
  std::int64_t ends = 0;
  for (const Sequence* sequence : scheduler_.Waiting()) {
    TellProgressOf(*sequence, until_start(++ends).value_or(-1), rows_before);
  }
}

// `seconds_more`: besides the rows; below 0: not known.
void EngineLoop::TellProgressOf(const Sequence& sequence, double seconds_more,
                                std::int64_t& rows_before) {
  ActiveRequest& request = Owner(sequence);
  if (request.started) return;  // it gave up its blocks, and comes back
  const std::int64_t computed = std::max(sequence.blocks.computed, request.found_tokens);
  const std::int64_t rows = sequence.prompt_tokens - computed;
  Progress progress{.prompt_tokens = sequence.prompt_tokens,
                    .computed_tokens = computed,
                    .tokens_before = rows_before};
  rows_before += rows;
  const auto seconds = forecast_.PromptSeconds(rows_before);
  if (seconds && seconds_more >= 0) progress.seconds_left = *seconds + seconds_more;
  request.sink->OnProgress(progress);
}

void EngineLoop::ExplainMiss(ActiveRequest& request, const Sequence& sequence) {
  MissReport& report = request.outcome.cache;
  report.prompt_tokens = sequence.prompt_tokens;
  report.cached_tokens = sequence.cached_tokens;
  Emit(&model_->trace(), {.request = sequence.id,
                          .a = sequence.prompt_tokens,
                          .b = sequence.cached_tokens,
                          .type = EventType::kPrompted});
  if (!model_->options().prefix_cache) return;
  const auto blocks =
      static_cast<std::size_t>(sequence.prompt_tokens / model_->options().block_size);
  report = prompt_log_.Explain(sequence.chain.root(), request.request.prompt,
                               sequence.chain.hashes().first(blocks), request.request.parts,
                               sequence.cached_tokens);
  RecordTokens(request, sequence);
  if (report.cause == MissCause::kFullHit) return;
  Emit(&model_->trace(), {.request = sequence.id,
                          .a = report.matched_tokens,
                          .b = sequence.prompt_tokens,
                          .type = EventType::kMissed});
}

void EngineLoop::RecordTokens(const ActiveRequest& request, const Sequence& sequence) {
  if (!model_->options().prefix_cache) return;
  std::vector<PromptPart> parts = request.request.parts;
  // What was not computed, of a prompt that was cancelled, never was in the cache.
  const std::int64_t computed = sequence.blocks.computed;
  if (computed > sequence.prompt_tokens) {
    parts.push_back({.label = "reply", .first_token = sequence.prompt_tokens});
  }
  prompt_log_.Record(request.id, sequence.chain.root(),
                     sequence.chain.tokens().first(static_cast<std::size_t>(computed)),
                     sequence.chain.hashes(), parts);
}

// At the rows' positions. Those of a refused draft are overwritten when their positions are
// computed again.
void EngineLoop::RecordExperts(const Chunk& chunk, std::span<const std::int16_t> experts) {
  ActiveRequest& request = Owner(*chunk.sequence);
  const std::size_t choice = ChoiceOf(chunk.sequence->id);
  const ModelConfig& config = model_->config();
  if (request.routing.size() <= choice)
    request.routing.resize(choice + 1, {.layers = config.moe_layers, .top_k = config.router.top_k});
  std::vector<std::int16_t>& record = request.routing[choice].experts;
  const std::size_t of_row = experts.size() / static_cast<std::size_t>(chunk.rows);
  const std::size_t first = static_cast<std::size_t>(chunk.first) * of_row;
  if (record.size() < first + experts.size()) record.resize(first + experts.size(), -1);
  std::ranges::copy(experts, record.begin() + static_cast<std::ptrdiff_t>(first));
}

void EngineLoop::TakeExperts(ActiveRequest& request, const Sequence& sequence, Reply& reply) const {
  const std::size_t choice = ChoiceOf(sequence.id);
  if (choice >= request.routing.size()) return;
  reply.experts = std::move(request.routing[choice]);
  const auto of_row = static_cast<std::size_t>(reply.experts.layers) *
                      static_cast<std::size_t>(reply.experts.top_k);
  const std::size_t computed = static_cast<std::size_t>(sequence.blocks.computed) * of_row;
  reply.experts.experts.resize(std::min(reply.experts.experts.size(), computed));
}

std::vector<ExpertLoadSnapshot> EngineLoop::ExpertLoads() const {
  std::vector<ExpertLoadSnapshot> loads;
  const std::span<const ExpertLoad> counted = model_->forward().expert_loads();
  const std::vector<LayerConfig>& layers = model_->config().layers;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (!layers[layer].experts) continue;
    const ExpertLoad& load = counted[static_cast<std::size_t>(layers[layer].moe_index)];
    ExpertLoadSnapshot snapshot{.layer = static_cast<int>(layer),
                                .tokens = load.tokens(),
                                .chosen = {},
                                .mean_scores = {},
                                .balance_loss = load.BalanceLoss(),
                                .entropy = load.Entropy()};
    for (int expert = 0; expert < load.experts(); ++expert) {
      snapshot.chosen.push_back(load.chosen(expert));
      snapshot.mean_scores.push_back(load.MeanScore(expert));
    }
    loads.push_back(std::move(snapshot));
  }
  return loads;
}

Snapshot EngineLoop::TakeSnapshot(bool blocks) const {
  const MemoryPlan& plan = model_->plan();
  const BlockPool& pool = model_->cache().pool();
  const BlockPoolStats stats = pool.stats();
  const Trace& trace = model_->trace();
  const auto sum = [](std::int64_t total) { return static_cast<std::uint64_t>(total); };
  const EventTotals& prompted = trace.totals(EventType::kPrompted);
  Snapshot snapshot{.memory = ReportOf(plan),
                    .block_size = model_->options().block_size,
                    .num_groups = model_->cache().num_groups(),
                    .block_bytes = model_->kv_layout().block_bytes,
                    .context = plan.context,
                    .blocks_total = stats.total,
                    .blocks_used = stats.used,
                    .blocks_cached = stats.cached,
                    .blocks_free = stats.free,
                    .steps = steps_,
                    .prompt_tokens = sum(prompted.a),
                    .cached_tokens = sum(prompted.b),
                    .computed_tokens = sum(trace.totals(EventType::kChunk).b),
                    .generated_tokens = sum(trace.totals(EventType::kFinished).a),
                    .drafted_tokens = sum(trace.totals(EventType::kDrafted).a),
                    .accepted_tokens = sum(trace.totals(EventType::kDrafted).b),
                    .preemptions = trace.totals(EventType::kPreempted).count,
                    .evictions = trace.totals(EventType::kEvicted).count,
                    .forward_seconds = static_cast<double>(forward_ns_) * 1e-9,
                    .schedule_seconds = static_cast<double>(schedule_ns_) * 1e-9,
                    .draw_seconds = static_cast<double>(draw_ns_) * 1e-9};
  snapshot.expert_loads = ExpertLoads();
  if (const ExpertCache* cache = model_->weights().expert_cache.get()) {
    const ExpertCacheStats experts = cache->stats();
    snapshot.expert_cache = {.experts = experts.experts,
                             .slots = experts.slots,
                             .resident = experts.resident,
                             .hits = experts.hits,
                             .misses = experts.misses,
                             .bytes_read = experts.bytes_read,
                             .wait_seconds = experts.wait_seconds};
  }
  for (const Sequence* sequence : scheduler_.All()) {
    snapshot.requests.push_back(SnapshotOf(*sequence));
  }
  if (!blocks) return snapshot;
  snapshot.blocks = BlocksOf(pool);
  snapshot.integrity = CheckIntegrity();
  return snapshot;
}

}  // namespace folio
