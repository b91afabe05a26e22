#include "server/snapshot_families.h"

#include <algorithm>
#include <utility>

namespace folio {
namespace {

using Labels = SnapshotFamilies::Labels;

double CountRunning(const Snapshot& snapshot, bool running) {
  double count = 0;
  for (const RequestSnapshot& request : snapshot.requests) {
    if ((request.state != "waiting") == running) ++count;
  }
  return count;
}

void AddRequests(SnapshotFamilies& out, const Labels& label, const Snapshot& now) {
  out.Gauge("vllm:num_requests_running", "Sequences that are computed.", label,
            CountRunning(now, true));
  out.Gauge("vllm:num_requests_waiting", "Sequences that wait for room.", label,
            CountRunning(now, false));
  out.Counter("vllm:num_preemptions_total", "Sequences put back to wait for blocks.", label,
              static_cast<double>(now.preemptions));
  out.Counter("vllm:prompt_tokens_total", "Tokens of prompts.", label,
              static_cast<double>(now.prompt_tokens));
  out.Counter("vllm:generation_tokens_total", "Tokens of replies that ended.", label,
              static_cast<double>(now.generated_tokens));
  out.Counter("vllm:prefix_cache_queries_total", "Tokens looked for in the prefix cache.", label,
              static_cast<double>(now.prompt_tokens));
  out.Counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.", label,
              static_cast<double>(now.cached_tokens));
  out.Counter("folio_computed_tokens_total", "Rows computed, of prompts and replies.", label,
              static_cast<double>(now.computed_tokens));
  out.Counter("folio_steps_total", "Steps of the engine.", label, static_cast<double>(now.steps));
}

void AddBlocks(SnapshotFamilies& out, const Labels& label, const Snapshot& now) {
  const auto total = static_cast<double>(now.blocks_total);
  out.Gauge("vllm:kv_cache_usage_perc", "Share of the KV blocks that requests hold, 0 to 1.", label,
            total > 0 ? static_cast<double>(now.blocks_used) / total : 0);
  out.Gauge("folio_kv_blocks_used", "KV blocks that requests hold.", label,
            static_cast<double>(now.blocks_used));
  out.Gauge("folio_kv_blocks_cached", "KV blocks that nobody holds, but may still be found.", label,
            static_cast<double>(now.blocks_cached));
  out.Gauge("folio_kv_blocks_free", "KV blocks without content.", label,
            static_cast<double>(now.blocks_free));
  out.Counter("folio_kv_evictions_total", "Cached blocks given to others.", label,
              static_cast<double>(now.evictions));
  out.Gauge("folio_memory_planned_bytes", "Memory planned at start, never exceeded.", label,
            static_cast<double>(now.memory.total_bytes));
}

void AddDrafts(SnapshotFamilies& out, const Labels& label, const Snapshot& now) {
  out.Counter("vllm:spec_decode_num_draft_tokens_total", "Tokens proposed ahead.", label,
              static_cast<double>(now.drafted_tokens));
  out.Counter("vllm:spec_decode_num_accepted_tokens_total", "Those that were right.", label,
              static_cast<double>(now.accepted_tokens));
}

// The share of a layer's tokens that went to its busiest expert. A token goes to several experts,
// so that the shares of all add up to more than 1.
double BusiestShare(const ExpertLoadSnapshot& load) {
  if (load.tokens == 0 || load.chosen.empty()) return 0;
  return static_cast<double>(std::ranges::max(load.chosen)) / static_cast<double>(load.tokens);
}

void AddRouting(SnapshotFamilies& out, const Labels& label, const Snapshot& now) {
  for (const ExpertLoadSnapshot& load : now.expert_loads) {
    Labels labels = label;
    labels.push_back({.name = "layer", .value = std::to_string(load.layer)});
    out.Counter("folio_moe_routed_tokens_total", "Tokens that a layer's router has spread.", labels,
                static_cast<double>(load.tokens));
    out.Gauge("folio_moe_balance_loss",
              "Switch Transformer's loss of a router's choices so far: 1 where all experts are "
              "chosen alike.",
              labels, load.balance_loss);
    out.Gauge("folio_moe_load_entropy",
              "Of a router's choices so far: 1 where all experts are chosen alike, 0 for only one.",
              labels, load.entropy);
    out.Gauge("folio_moe_busiest_share", "Share of its tokens that a layer's busiest expert had.",
              std::move(labels), BusiestShare(load));
  }
}

void AddExpertCache(SnapshotFamilies& out, const Labels& label, const ExpertCacheSnapshot& now) {
  if (now.experts == 0) return;
  out.Gauge("folio_expert_cache_slots", "Experts that fit into memory.", label,
            static_cast<double>(now.slots));
  out.Gauge("folio_expert_cache_resident", "Experts in memory.", label,
            static_cast<double>(now.resident));
  out.Counter("folio_expert_cache_hits_total", "Experts of a step that were in memory.", label,
              static_cast<double>(now.hits));
  out.Counter("folio_expert_cache_misses_total", "Experts of a step that had to be read.", label,
              static_cast<double>(now.misses));
  out.Counter("folio_expert_cache_read_bytes_total", "Bytes of the file read for them.", label,
              static_cast<double>(now.bytes_read));
  out.Counter("folio_expert_cache_wait_seconds_total", "In which all waited for an expert.", label,
              now.wait_seconds);
}

}  // namespace

prometheus::ClientMetric& SnapshotFamilies::Add(const std::string& name, const std::string& help,
                                                prometheus::MetricType type, Labels labels) {
  auto family = std::ranges::find(families_, name, &prometheus::MetricFamily::name);
  if (family == families_.end()) {
    families_.push_back({.name = name, .help = help, .type = type});
    family = families_.end() - 1;
  }
  prometheus::ClientMetric& metric = family->metric.emplace_back();
  metric.label = std::move(labels);
  return metric;
}

void SnapshotFamilies::Gauge(const std::string& name, const std::string& help, Labels labels,
                             double value) {
  Add(name, help, prometheus::MetricType::Gauge, std::move(labels)).gauge.value = value;
}

void SnapshotFamilies::Counter(const std::string& name, const std::string& help, Labels labels,
                               double value) {
  Add(name, help, prometheus::MetricType::Counter, std::move(labels)).counter.value = value;
}

SnapshotFamilies::Labels ModelLabel(const std::string& model) {
  return {{.name = "model_name", .value = model}};
}

void AddEngine(SnapshotFamilies& out, const std::string& model, const Snapshot& now) {
  const Labels label = ModelLabel(model);
  AddRequests(out, label, now);
  AddBlocks(out, label, now);
  AddDrafts(out, label, now);
  AddRouting(out, label, now);
  AddExpertCache(out, label, now.expert_cache);
}

}  // namespace folio
