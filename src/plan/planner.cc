#include "plan/planner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plan/stand_in_config.h"

namespace folio {
namespace {

// More than an engine can count (BlockPool's ids are 32-bit): far past any machine's memory.
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 40;
constexpr std::int64_t kMostUsers = std::int64_t{1} << 30;
constexpr std::int64_t kLongestContext = std::int64_t{1} << 31;

// The largest number from 0 to `most` for which `fits`, which no larger one does again.
template <typename Fits>
std::int64_t LargestThatFits(std::int64_t most, const Fits& fits) {
  std::int64_t low = 0;
  std::int64_t high = most;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace

Result<Planner> Planner::Create(std::shared_ptr<const ModelShape> shape,
                                const PlanSettings& settings) {
  if (shape->layers.empty()) return InputError(shape->source, "layers", shape->unknown);
  Planner planner(std::move(shape), settings);
  planner.config_ = planner.shape_->config != nullptr
                        ? planner.shape_->config
                        : std::make_shared<const ModelConfig>(StandInConfig(*planner.shape_));
  if (Status laid = planner.LayOut(); !laid) return std::unexpected(laid.error());
  if (Status measured = planner.MeasureModel(); !measured) return std::unexpected(measured.error());
  return planner;
}

Status Planner::LayOut() {
  const KvSpec spec = StoredLayersOf(*shape_).spec;
  layout_ = std::make_shared<KvLayout>();
  layout_->block_size = settings_.kv.block_size;
  if (!spec.layers.empty()) {
    Result<KvLayout> layout = LayOutKvGroups(spec, settings_.kv.codings, settings_.kv.block_size);
    if (!layout) return std::unexpected(layout.error());
    *layout_ = *std::move(layout);
  }
  Result<KvLayout> step =
      LayOutKvBlock(KvSpecOf(*config_), settings_.step_type, settings_.kv.block_size);
  if (!step) return std::unexpected(step.error());
  step_layout_ = std::make_shared<KvLayout>(*std::move(step));
  return {};
}

Status Planner::MeasureModel() {
  weights_known_ = true;
  if (settings_.weights_bytes) {
    weights_.all = *settings_.weights_bytes;
    return {};
  }
  if (shape_->engine_weights && settings_.weight_type.empty()) {
    weights_ = *shape_->engine_weights;
    return {};
  }
  if (shape_->weights && settings_.weight_type.empty()) {
    weights_.all = shape_->weights->all;
    weights_estimated_ = shape_->weights->estimated;
    return {};
  }
  const bool given = !settings_.weight_type.empty();
  weights_known_ = shape_->parameters || shape_->published_parameters;
  if (!weights_known_ && !given) return {};
  const Result<WeightShape> estimate =
      EstimateWeights(*shape_, given ? settings_.weight_type : shape_->stored_type,
                      given ? "" : shape_->expert_type);
  if (!estimate) return std::unexpected(estimate.error());
  weights_.all = estimate->all;
  weights_estimated_ = true;
  return {};
}

Result<Plan> Planner::At(std::int64_t users, std::int64_t context) const {
  KvQuestion question = settings_.kv;
  question.users = users;
  question.context = context;
  Result<KvPlan> kv = PlanKv(*shape_, question);
  if (!kv) return std::unexpected(kv.error());
  if (kv->num_blocks > kMostBlocks || users > kMostUsers || context > kLongestContext) {
    return UsageError("plan", "KV blocks",
                      std::to_string(kv->num_blocks) + " for " + std::to_string(users) +
                          " users of " + std::to_string(context) + " tokens are past any memory");
  }
  EngineSizes sizes = settings_.engine;
  sizes.max_logit_rows = users + settings_.max_draft_tokens;
  sizes.max_drafters = settings_.max_draft_tokens > 0 ? users : 0;
  MemoryRequest request = MemoryRequestOf(*config_, *step_layout_, weights_, sizes);
  request.memory = std::numeric_limits<std::uint64_t>::max();
  request.context_is_given = true;
  request.context = context;
  request.pool = PoolSize::kGiven;
  request.num_blocks = kv->num_blocks;
  const Result<MemoryPlan> parts = PlanMemory(request, *layout_);
  if (!parts) return std::unexpected(parts.error());
  return Plan{.users = users,
              .context = context,
              .kv = *std::move(kv),
              .parts = *parts,
              .weights_known = weights_known_,
              .weights_estimated = weights_estimated_,
              .workspace_estimated = shape_->config == nullptr || !settings_.engine_has_codings};
}

bool Planner::Fits(std::int64_t users, std::int64_t context) const {
  const Result<Plan> plan = At(users, context);
  return plan && plan->total_bytes() <= settings_.memory;
}

std::int64_t Planner::MaxUsers(std::int64_t context) const {
  return LargestThatFits(kMostUsers,
                         [&](std::int64_t users) { return users == 0 || Fits(users, context); });
}

std::int64_t Planner::MaxContext(std::int64_t users) const {
  const std::int64_t most = shape_->context_length > 0 ? shape_->context_length : kLongestContext;
  // A context below the shared prefix is not asked about.
  const std::int64_t least = std::max<std::int64_t>(1, settings_.kv.shared_prefix);
  return LargestThatFits(most, [&](std::int64_t context) {
    return context == 0 || (context < least ? Fits(users, least) : Fits(users, context));
  });
}

}  // namespace folio
