#include "plan/traffic_plan.h"

#include <algorithm>
#include <cmath>

namespace folio {
namespace {

// Layers that read another's keys and values read as much as that one.
const KvLayerSpec& ReadBy(const ModelShape& shape, const LayerShape& layer) {
  return layer.reuses < 0 ? layer.kv : shape.layers[static_cast<std::size_t>(layer.reuses)].kv;
}

double Positions(const KvLayerSpec& kv, std::int64_t context) {
  return static_cast<double>(kv.window == 0 ? context : std::min(kv.window, context));
}

// Scores and their sum of values, of one token in one layer: a multiplication and an addition each.
double AttentionOperations(const LayerShape& layer, const KvLayerSpec& kv, double positions) {
  const int value_dim = kv.latent_dim > 0  ? kv.latent_dim
                        : kv.value_dim > 0 ? kv.value_dim
                                           : kv.head_dim;
  return 2.0 * layer.query_heads * (kv.head_dim + value_dim) * positions;
}

}  // namespace

double ExpectedDistinctExperts(int experts, int top_k, std::int64_t rows) {
  if (experts == 0) return 0;
  const double missed = 1.0 - static_cast<double>(top_k) / experts;
  return experts * (1.0 - std::pow(missed, static_cast<double>(rows)));
}

TrafficPlan PlanTraffic(const ModelShape& shape, const WeightShape& weights,
                        const TrafficQuestion& question,
                        const std::optional<MachineSpeed>& machine) {
  TrafficPlan plan{.batch = question.batch};
  const auto batch = static_cast<double>(question.batch);
  plan.distinct_experts = ExpectedDistinctExperts(shape.experts, shape.top_k, question.batch);
  const double share = shape.experts == 0 ? 0 : plan.distinct_experts / shape.experts;
  plan.weight_bytes =
      static_cast<double>(weights.always) + share * static_cast<double>(weights.experts);
  plan.state_bytes = 2.0 * batch * static_cast<double>(StateBytes(shape));
  if (shape.parameters)
    plan.operations = 2.0 * batch * static_cast<double>(shape.parameters->active_but_lookups());
  for (const LayerShape& layer : shape.layers) {
    const KvLayerSpec& kv = ReadBy(shape, layer);
    if (kv.kv_heads == 0) continue;
    const double positions = Positions(kv, question.context);
    plan.kv_bytes += batch * positions * static_cast<double>(KvBytesPerToken(kv, question.codings));
    plan.operations += batch * AttentionOperations(layer, kv, positions);
  }
  if (!machine) return plan;
  plan.read_seconds = plan.step_bytes() / machine->bytes_per_s;
  plan.compute_seconds =
      machine->operations_per_s > 0 ? plan.operations / machine->operations_per_s : 0;
  plan.tokens_per_s = batch / std::max(plan.read_seconds, plan.compute_seconds);
  return plan;
}

}  // namespace folio
