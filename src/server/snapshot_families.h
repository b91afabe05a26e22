// Families of metrics that are made anew each time they are asked for, and what an engine's
// snapshot says as such.
#ifndef FOLIO_SERVER_SNAPSHOT_FAMILIES_H_
#define FOLIO_SERVER_SNAPSHOT_FAMILIES_H_

#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

#include "folio/engine.h"

namespace folio {

class SnapshotFamilies {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  void Gauge(const std::string& name, const std::string& help, Labels labels, double value);
  void Counter(const std::string& name, const std::string& help, Labels labels, double value);
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  prometheus::ClientMetric& Add(const std::string& name, const std::string& help,
                                prometheus::MetricType type, Labels labels);
  std::vector<prometheus::MetricFamily> families_;
};

SnapshotFamilies::Labels ModelLabel(const std::string& model);

// Requests, tokens, blocks, drafts and, where the model has them, experts.
void AddEngine(SnapshotFamilies& out, const std::string& model, const Snapshot& now);

}  // namespace folio

#endif  // FOLIO_SERVER_SNAPSHOT_FAMILIES_H_
