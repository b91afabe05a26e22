// How fast a model can be at best: what a step reads and computes, against what a machine can.
#ifndef FOLIO_PLAN_TRAFFIC_PLAN_H_
#define FOLIO_PLAN_TRAFFIC_PLAN_H_

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "kvcache/kv_sizing.h"
#include "plan/model_shape.h"

namespace folio {

// What is to be expected of `experts`, of which each of `rows` tokens chooses `top_k` others and
// all are chosen alike: E (1 - (1 - k / E)^rows). Exactly top_k for one row.
double ExpectedDistinctExperts(int experts, int top_k, std::int64_t rows);

struct MachineSpeed {
  double bytes_per_s = 0;       // read from memory
  double operations_per_s = 0;  // multiplications and additions, one each
};

struct TrafficQuestion {
  std::int64_t context = 0;  // positions of each sequence that a token sees
  std::int64_t batch = 1;    // sequences that a step makes a token of
  KvCodings codings;
};

// Of a step that makes one token of each sequence.
struct TrafficPlan {
  std::int64_t batch = 1;
  double distinct_experts = 0;  // of a layer that has some
  double weight_bytes = 0;
  double kv_bytes = 0;     // of all sequences
  double state_bytes = 0;  // read, and written again
  double operations = 0;   // of products and of attention
  // With a machine: seconds of reading and of computing, and tokens a second of all sequences
  // together, if the longer of the two hides the other.
  double read_seconds = 0;
  double compute_seconds = 0;
  std::optional<double> tokens_per_s;

  double step_bytes() const { return weight_bytes + kv_bytes + state_bytes; }
  double bytes_per_token() const { return step_bytes() / static_cast<double>(batch); }
};

// `weights`: the model's, where `always` is known.
TrafficPlan PlanTraffic(const ModelShape& shape, const WeightShape& weights,
                        const TrafficQuestion& question,
                        const std::optional<MachineSpeed>& machine);

}  // namespace folio

#endif  // FOLIO_PLAN_TRAFFIC_PLAN_H_
