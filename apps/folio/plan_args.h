// The options of `folio plan`, and the planner that they ask for.
#ifndef FOLIO_APPS_FOLIO_PLAN_ARGS_H_
#define FOLIO_APPS_FOLIO_PLAN_ARGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "folio/options.h"
#include "plan/planner.h"

namespace folio {

struct PlanArgs {
  std::vector<std::string> models;
  std::int64_t context = 0;
  std::int64_t users = 1;
  std::int64_t shared_prefix = 0;
  std::uint64_t memory = 0;
  std::int64_t threads = 0;
  std::int64_t block_size = 16;
  std::int64_t max_batch_tokens = 512;
  std::string kv_type = "bf16";
  std::string weights;
  std::uint64_t weights_bytes = 0;
  std::int64_t batch = 0;  // 0: users
  float bandwidth = 0;     // GB/s; 0: not given
  float compute = 0;       // GOP/s
  bool measure = false;
  std::int64_t requests = 0;  // of a hosted cache; 0: not asked about
  float interval = 0;
  float write_factor = 1.25F;
  float read_factor = 0.1F;
  float ttl = 300;
  float price = 0;
  bool compare = false;
  bool explain = false;
  bool list = false;
  bool json = false;
};

void AddPlanArgs(const Command& command, PlanArgs& args);

// The model that an argument of `plan` means: what ReadModelShape reads, a name in the store, a
// name of the built-in table, or "hf:ORG/REPO[:QUANT]".
Result<std::shared_ptr<const ModelShape>> ShapeForPlan(const std::string& model);

// What `args` ask for.
Result<PlanSettings> PlanSettingsOf(const PlanArgs& args);

// --context, or the model's, at most kDefaultContext.
std::int64_t PlanContext(const PlanArgs& args, const ModelShape& shape);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PLAN_ARGS_H_
