#include "server/server_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>
#include <vector>

#include "server/snapshot_families.h"

namespace folio {
namespace {

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

void AddLoads(SnapshotFamilies& out, const ModelListing& model) {
  const auto label = ModelLabel(model.id);
  out.Gauge("folio_model_loaded", "1 while the model is in memory.", label, model.loaded ? 1 : 0);
  out.Counter("folio_model_loads_total", "Times that the model was loaded.", label,
              static_cast<double>(model.loads));
}

void AddHttp(SnapshotFamilies& out, const HttpServerCounts& http) {
  out.Gauge("folio_http_connections", "Open connections.", {},
            static_cast<double>(http.connections));
  out.Counter("folio_http_connections_total", "Connections accepted.", {},
              static_cast<double>(http.accepted));
  out.Counter("folio_http_connections_refused_total", "Connections beyond the most.", {},
              static_cast<double>(http.refused_connections));
  out.Counter("folio_http_requests_total", "Requests read.", {},
              static_cast<double>(http.requests));
  out.Counter("folio_http_lost_clients_total", "Clients gone before their reply was whole.", {},
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
  Counters& failed =
      CountersOf("folio_requests_failed_total", "Requests that failed once they ran.");
  Counters& refused = CountersOf("folio_requests_refused_total",
                                 "Requests that were refused before they ran, by status.");
  Counters& cancelled =
      CountersOf("folio_requests_cancelled_total", "Requests whose client went away.");

  prometheus::Histogram& FirstTokenOf(const prometheus::Labels& model) {
    return first_token.Add(model, FirstTokenBuckets());
  }
  prometheus::Histogram& PerTokenOf(const prometheus::Labels& model) {
    return per_token.Add(model, PerTokenBuckets());
  }
  prometheus::Histogram& WholeOf(const prometheus::Labels& model) {
    return whole.Add(model, RequestBuckets());
  }
  prometheus::Counter& FinishedOf(prometheus::Labels model, FinishReason reason) {
    model.emplace("finished_reason", FinishReasonName(reason));
    return finished.Add(model);
  }
  // What is counted of a model from its first request on, so that nothing is missing before.
  void Know(const prometheus::Labels& model) {
    FirstTokenOf(model);
    PerTokenOf(model);
    WholeOf(model);
    for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
      FinishedOf(model, reason);
    }
    failed.Add(model);
    cancelled.Add(model);
  }
};

ServerMetrics::ServerMetrics() : impl_(std::make_unique<Impl>()) {}
ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::Observe(const ReplyRecord& record) {
  const prometheus::Labels model = {{"model_name", record.model}};
  if (record.failed) impl_->failed.Add(model).Increment();
  if (record.cancelled) impl_->cancelled.Add(model).Increment();
  if (record.failed || record.cancelled) return;
  const Timings& timings = record.timings;
  const double first = timings.queued_seconds + timings.prefill_seconds;
  impl_->FirstTokenOf(model).Observe(first);
  impl_->WholeOf(model).Observe(first + timings.decode_seconds);
  if (record.totals.generated_tokens > 1) {
    impl_->PerTokenOf(model).Observe(timings.decode_seconds /
                                     static_cast<double>(record.totals.generated_tokens - 1));
  }
  for (const FinishReason reason : record.finish_reasons) {
    impl_->FinishedOf(model, reason).Increment();
  }
}

void ServerMetrics::NoteRefusal(int status) {
  impl_->refused.Add({{"code", std::to_string(status)}}).Increment();
}

std::string ServerMetrics::Expose(ModelHost& models, const HttpServerCounts& http) const {
  SnapshotFamilies snapshot;
  for (const auto& model : models.AllLoaded()) {
    AddEngine(snapshot, model->id(), model->engine().TakeSnapshot());
  }
  for (const ModelListing& model : models.List()) {
    AddLoads(snapshot, model);
    impl_->Know({{"model_name", model.id}});
  }
  AddHttp(snapshot, http);
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  for (prometheus::MetricFamily& family : snapshot.Take()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace folio
