// Will it fit? All parts of the memory that a model takes with so many users and tokens, and what
// is the most that fits: the engine's own memory plan, asked without an engine.
#ifndef FOLIO_PLAN_PLANNER_H_
#define FOLIO_PLAN_PLANNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "plan/engine_memory.h"
#include "plan/kv_plan.h"
#include "plan/memory_plan.h"
#include "plan/model_shape.h"

namespace folio {

struct PlanSettings {
  KvQuestion kv;                     // users and context are those of At
  std::uint64_t memory = 0;          // bytes; what must fit
  KvType step_type = KvType::kBf16;  // of the KV cache as a step's kernels see it
  bool engine_has_codings = true;    // kv.codings are step_type's
  // As of an engine that serves `users` requests at a time, each of which may be drafted.
  EngineSizes engine;
  std::int64_t max_draft_tokens = 15;
  std::string weight_type;  // of weights that no tensor tells; empty: stored_type
  std::optional<std::uint64_t> weights_bytes;  // in their place
};

struct Plan {
  std::int64_t users = 1;
  std::int64_t context = 0;
  KvPlan kv;
  MemoryPlan parts;  // without state
  bool weights_known = false;
  bool weights_estimated = false;
  bool workspace_estimated = false;  // as if Folio had the architecture and the KV type

  std::uint64_t total_bytes() const { return parts.total_bytes() + kv.state_bytes; }
};

class Planner {
 public:
  static Result<Planner> Create(std::shared_ptr<const ModelShape> shape,
                                const PlanSettings& settings);

  Result<Plan> At(std::int64_t users, std::int64_t context) const;
  // The most users with sequences of `context` tokens, and the longest context of `users`, that
  // `memory` holds; 0: not one. The context is at most what the model was trained for.
  std::int64_t MaxUsers(std::int64_t context) const;
  std::int64_t MaxContext(std::int64_t users) const;

  const ModelShape& shape() const { return *shape_; }
  const PlanSettings& settings() const { return settings_; }

 private:
  Planner(std::shared_ptr<const ModelShape> shape, PlanSettings settings)
      : shape_(std::move(shape)), settings_(std::move(settings)) {}
  Status LayOut();
  Status MeasureModel();
  bool Fits(std::int64_t users, std::int64_t context) const;

  std::shared_ptr<const ModelShape> shape_;
  PlanSettings settings_;
  std::shared_ptr<const ModelConfig> config_;  // the engine's, or one of the same sizes
  std::shared_ptr<KvLayout> layout_;           // what the plan counts
  std::shared_ptr<KvLayout> step_layout_;      // what a step's workspace is laid out for
  WeightBytes weights_;
  bool weights_known_ = false;
  bool weights_estimated_ = false;
};

}  // namespace folio

#endif  // FOLIO_PLAN_PLANNER_H_
