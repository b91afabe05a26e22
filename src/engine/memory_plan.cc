#include "engine/memory_plan.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/checked.h"
#include "cpu/machine.h"
#include "kvcache/block_pool.h"

namespace folio {
namespace {

constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 30;
constexpr std::uint64_t kTooMuch = std::numeric_limits<std::uint64_t>::max();

std::uint64_t KvBytes(std::int64_t blocks, const KvLayout& layout) {
  return CheckedMul<std::uint64_t>(static_cast<std::uint64_t>(blocks), layout.block_bytes)
      .value_or(kTooMuch);
}

bool Fits(const MemoryPlan& plan) {
  std::uint64_t left = plan.budget_bytes;
  for (const std::uint64_t part : {plan.weights_bytes, plan.kv_bytes, plan.kv_index_bytes,
                                   plan.workspace_bytes, plan.program_bytes}) {
    if (part > left) return false;
    left -= part;
  }
  return true;
}

void AddBlocks(std::int64_t blocks, const KvLayout& layout, MemoryPlan& plan) {
  plan.num_blocks = blocks;
  plan.kv_bytes = KvBytes(blocks, layout);
  plan.kv_index_bytes += BlockPool::MetadataBytes(blocks);
}

// The most blocks that fit beside what `plan` has already. Their bookkeeping grows in leaps: found
// by halving.
std::int64_t BlocksInBudget(const MemoryPlan& plan, const KvLayout& layout) {
  std::int64_t low = 0;
  auto high = static_cast<std::int64_t>(
      std::min<std::uint64_t>(plan.budget_bytes / layout.block_bytes, kMostBlocks));
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    MemoryPlan with = plan;
    AddBlocks(middle, layout, with);
    if (Fits(with)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Blocks of so many contexts of `one` blocks each: at least one, and as far as the budget
// goes.
std::int64_t ContextsInBudget(std::int64_t contexts, std::int64_t one, const MemoryPlan& plan,
                              const KvLayout& layout) {
  const std::int64_t most = std::max(one, BlocksInBudget(plan, layout));
  return CheckedMul(contexts, one).value_or(most) < most ? contexts * one : most;
}

MemoryPlan Price(const MemoryRequest& request, const KvLayout& layout, std::int64_t context) {
  MemoryPlan plan{.budget_bytes = request.memory,
                  .weights_bytes = request.weights_bytes,
                  .kv_index_bytes = request.fixed_index_bytes,
                  .workspace_bytes = request.workspace_bytes(context),
                  .program_bytes = request.program_bytes,
                  .context = context};
  const std::int64_t one =
      BlocksHeldAtMost(context, GroupSpecs(layout), request.max_batch_tokens, layout.block_size);
  switch (request.pool) {
    case PoolSize::kContexts:
      AddBlocks(request.contexts > 1 ? ContextsInBudget(request.contexts, one, plan, layout) : one,
                layout, plan);
      break;
    case PoolSize::kBudget:
      AddBlocks(std::max(one, BlocksInBudget(plan, layout)), layout, plan);
      break;
    case PoolSize::kGiven:
      AddBlocks(request.num_blocks, layout, plan);
      break;
  }
  return plan;
}

}  // namespace

Result<MemoryPlan> PlanMemory(const MemoryRequest& request, const KvLayout& layout) {
  MemoryRequest resolved = request;
  if (resolved.memory == 0) resolved.memory = AvailableMemory();
  MemoryPlan plan = Price(resolved, layout, request.context);
  while (!Fits(plan) && !request.context_is_given && plan.context > layout.block_size) {
    plan = Price(resolved, layout, plan.context / 2);
  }
  if (Fits(plan)) return plan;
  return RuntimeError("memory", request.memory != 0 ? "--memory" : "machine",
                      std::to_string(plan.budget_bytes) + " bytes are too few: weights need " +
                          std::to_string(plan.weights_bytes) + ", the KV cache of " +
                          std::to_string(plan.context) + " tokens " +
                          std::to_string(plan.kv_bytes) + " (and its index " +
                          std::to_string(plan.kv_index_bytes) + "), the workspace " +
                          std::to_string(plan.workspace_bytes) + ", the program " +
                          std::to_string(plan.program_bytes));
}

}  // namespace folio
