#include "server/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>
#include <vector>

namespace folio {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

const prometheus::Histogram::BucketBoundaries& FirstTokenBuckets() {
  static const prometheus::Histogram::BucketBoundaries kBuckets = {
      0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
      1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  320};
  return kBuckets;
}
const prometheus::Histogram::BucketBoundaries& PerTokenBuckets() {
  static const prometheus::Histogram::BucketBoundaries kBuckets = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5};
  return kBuckets;
}
const prometheus::Histogram::BucketBoundaries& RequestBuckets() {
  static const prometheus::Histogram::BucketBoundaries kBuckets = {
      0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960};
  return kBuckets;
}

// Families that are made of a snapshot each time they are asked for.
class SnapshotFamilies {
 public:
  void Gauge(const std::string& name, const std::string& help, const std::string& model,
             double value) {
    ClientMetric metric = Labelled(model);
    metric.gauge.value = value;
    Of(name, help, MetricType::Gauge).metric.push_back(std::move(metric));
  }
  void Counter(const std::string& name, const std::string& help, const std::string& model,
               double value) {
    ClientMetric metric = Labelled(model);
    metric.counter.value = value;
    Of(name, help, MetricType::Counter).metric.push_back(std::move(metric));
  }
  std::vector<MetricFamily> Take() { return std::move(families_); }

 private:
  static ClientMetric Labelled(const std::string& model) {
    ClientMetric metric;
    if (!model.empty()) metric.label.push_back({"model_name", model});
    return metric;
  }
  MetricFamily& Of(const std::string& name, const std::string& help, MetricType type) {
    for (MetricFamily& family : families_) {
      if (family.name == name) return family;
    }
    MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    families_.push_back(std::move(family));
    return families_.back();
  }
  std::vector<MetricFamily> families_;
};

double CountRunning(const Snapshot& snapshot, bool running) {
  double count = 0;
  for (const RequestSnapshot& request : snapshot.requests) {
    if ((request.state != "waiting") == running) ++count;
  }
  return count;
}

void AddRequests(SnapshotFamilies& out, const std::string& model, const Snapshot& now) {
  out.Gauge("vllm:num_requests_running", "Sequences that are computed.", model,
            CountRunning(now, true));
  out.Gauge("vllm:num_requests_waiting", "Sequences that wait for room.", model,
            CountRunning(now, false));
  out.Counter("vllm:num_preemptions_total", "Sequences put back to wait for blocks.", model,
              static_cast<double>(now.preemptions));
  out.Counter("vllm:prompt_tokens_total", "Tokens of prompts.", model,
              static_cast<double>(now.prompt_tokens));
  out.Counter("vllm:generation_tokens_total", "Tokens of replies that ended.", model,
              static_cast<double>(now.generated_tokens));
  out.Counter("vllm:prefix_cache_queries_total", "Tokens looked for in the prefix cache.", model,
              static_cast<double>(now.prompt_tokens));
  out.Counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.", model,
              static_cast<double>(now.cached_tokens));
  out.Counter("folio_computed_tokens_total", "Rows computed, of prompts and replies.", model,
              static_cast<double>(now.computed_tokens));
  out.Counter("folio_steps_total", "Steps of the engine.", model, static_cast<double>(now.steps));
}

void AddBlocks(SnapshotFamilies& out, const std::string& model, const Snapshot& now) {
  const auto total = static_cast<double>(now.blocks_total);
  out.Gauge("vllm:kv_cache_usage_perc", "Share of the KV blocks that requests hold, 0 to 1.", model,
            total > 0 ? static_cast<double>(now.blocks_used) / total : 0);
  out.Gauge("folio_kv_blocks_used", "KV blocks that requests hold.", model,
            static_cast<double>(now.blocks_used));
  out.Gauge("folio_kv_blocks_cached", "KV blocks that nobody holds, but may still be found.", model,
            static_cast<double>(now.blocks_cached));
  out.Gauge("folio_kv_blocks_free", "KV blocks without content.", model,
            static_cast<double>(now.blocks_free));
  out.Counter("folio_kv_evictions_total", "Cached blocks given to others.", model,
              static_cast<double>(now.evictions));
  out.Gauge("folio_memory_planned_bytes", "Memory planned at start, never exceeded.", model,
            static_cast<double>(now.memory.total_bytes));
}

void AddLoads(SnapshotFamilies& out, const ModelListing& model) {
  out.Gauge("folio_model_loaded", "1 while the model is in memory.", model.id,
            model.loaded ? 1 : 0);
  out.Counter("folio_model_loads_total", "Times that the model was loaded.", model.id,
              static_cast<double>(model.loads));
}

void AddHttp(SnapshotFamilies& out, const HttpServerCounts& http) {
  out.Gauge("folio_http_connections", "Open connections.", "",
            static_cast<double>(http.connections));
  out.Counter("folio_http_connections_total", "Connections accepted.", "",
              static_cast<double>(http.accepted));
  out.Counter("folio_http_connections_refused_total", "Connections beyond the most.", "",
              static_cast<double>(http.refused_connections));
  out.Counter("folio_http_requests_total", "Requests read.", "",
              static_cast<double>(http.requests));
  out.Counter("folio_http_lost_clients_total", "Clients gone before their reply was whole.", "",
              static_cast<double>(http.lost_clients));
}

}  // namespace

struct ServerMetrics::Impl {
  using Histograms = prometheus::Family<prometheus::Histogram>;
  using Counters = prometheus::Family<prometheus::Counter>;

  Histograms& HistogramsOf(const std::string& name, const std::string& help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
  Counters& CountersOf(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }

  prometheus::Registry registry;
  Histograms& first_token = HistogramsOf("vllm:time_to_first_token_seconds",
                                         "From a request's arrival to its first token.");
  Histograms& per_token = HistogramsOf("vllm:time_per_output_token_seconds",
                                       "Time of a reply's tokens after the first, each.");
  Histograms& whole =
      HistogramsOf("vllm:e2e_request_latency_seconds", "From a request's arrival to its end.");
  Counters& finished = CountersOf("vllm:request_success_total", "Replies that ended, by why.");
  prometheus::Counter& failed =
      CountersOf("folio_requests_failed_total", "Requests that failed once they ran.").Add({});
  prometheus::Counter& cancelled =
      CountersOf("folio_requests_cancelled_total", "Requests whose client went away.").Add({});
};

ServerMetrics::ServerMetrics() : impl_(std::make_unique<Impl>()) {}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::Observe(const ReplyRecord& record) {
  if (record.failed) impl_->failed.Increment();
  if (record.cancelled) impl_->cancelled.Increment();
  if (record.failed || record.cancelled) return;
  const Timings& timings = record.timings;
  const double first = timings.queued_seconds + timings.prefill_seconds;
  const prometheus::Labels model = {{"model_name", record.model}};
  impl_->first_token.Add(model, FirstTokenBuckets()).Observe(first);
  impl_->whole.Add(model, RequestBuckets()).Observe(first + timings.decode_seconds);
  if (record.totals.generated_tokens > 1) {
    impl_->per_token.Add(model, PerTokenBuckets())
        .Observe(timings.decode_seconds / static_cast<double>(record.totals.generated_tokens - 1));
  }
  for (const FinishReason reason : record.finish_reasons) {
    impl_->finished
        .Add({{"finished_reason", std::string(FinishReasonName(reason))},
              {"model_name", record.model}})
        .Increment();
  }
}

std::string ServerMetrics::Expose(ModelHost& models, const HttpServerCounts& http) const {
  SnapshotFamilies snapshot;
  for (const auto& model : models.AllLoaded()) {
    const Snapshot now = model->engine().TakeSnapshot();
    AddRequests(snapshot, model->id(), now);
    AddBlocks(snapshot, model->id(), now);
  }
  for (const ModelListing& model : models.List()) AddLoads(snapshot, model);
  AddHttp(snapshot, http);
  std::vector<MetricFamily> families = impl_->registry.Collect();
  for (MetricFamily& family : snapshot.Take()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace folio
