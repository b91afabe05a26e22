// A plan for people and for programs.
#ifndef FOLIO_APPS_FOLIO_PLAN_REPORT_H_
#define FOLIO_APPS_FOLIO_PLAN_REPORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "folio/output.h"
#include "plan/hosted_cost.h"
#include "plan/planner.h"
#include "plan/traffic_plan.h"

namespace folio {

struct HostedAnswer {
  HostedTraffic traffic;
  HostedPrices prices;
  HostedCost cost;
};

struct PlanAnswer {
  std::shared_ptr<const ModelShape> shape;
  PlanSettings settings;
  std::string kv_type;
  Plan plan;
  std::int64_t max_users = 0;        // at the plan's context
  std::int64_t max_context = 0;      // of the plan's users
  std::optional<TrafficPlan> one;    // of one sequence, where the weights are known
  std::optional<TrafficPlan> batch;  // and of a batch
  std::optional<MachineSpeed> machine;
  std::optional<HostedAnswer> hosted;
};

OutputJson PlanJson(const PlanAnswer& answer);
std::string PlanText(const PlanAnswer& answer);

// What is known of a model whose layers are not.
OutputJson FactsJson(const ModelShape& shape, std::int64_t batch);
std::string FactsText(const ModelShape& shape, std::int64_t batch);

// Counted, else published.
std::optional<std::uint64_t> AllParameters(const ModelShape& shape);
std::optional<std::uint64_t> ActiveParameters(const ModelShape& shape);

// "40,961 tokens are more than ..."; empty if they are not.
std::string ContextRemark(const ModelShape& shape, std::int64_t context);
// "reading 80.0 GB/s and computing 900 GOP/s"
std::string SpeedRemark(const MachineSpeed& machine);

// Where the memory goes.
struct PlanPart {
  std::string name;
  std::string key;  // of the JSON
  std::uint64_t bytes = 0;
};
std::vector<PlanPart> PlanPartsOf(const Plan& plan);

// "671.0 B"
std::string HumanCount(std::uint64_t number);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PLAN_REPORT_H_
