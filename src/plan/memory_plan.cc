#include "plan/memory_plan.h"

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
  for (const std::uint64_t part : {plan.weights_bytes, plan.experts_bytes, plan.kv_bytes,
                                   plan.kv_index_bytes, plan.workspace_bytes, plan.program_bytes}) {
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

MemoryPlan Price(const MemoryRequest& request, const KvLayout& layout, std::int64_t context,
                 std::int64_t expert_slots) {
  const bool cached = expert_slots > 0;
  const ExpertsRequest& experts = request.experts;
  MemoryPlan plan{
      .budget_bytes = request.memory,
      .weights_bytes = cached ? experts.dense_bytes : request.weights_bytes,
      .experts_bytes = cached ? experts.bytes_without_slots +
                                    static_cast<std::uint64_t>(expert_slots) * experts.slot_bytes
                              : 0,
      .kv_index_bytes = request.fixed_index_bytes,
      .workspace_bytes = request.workspace_bytes(context),
      .program_bytes = request.program_bytes,
      .context = context,
      .expert_slots = expert_slots};
  const std::int64_t one =
      BlocksHeldAtMost(context, GroupSpecs(layout), request.max_batch_tokens, layout.block_size);
  if (request.pool == PoolSize::kGiven) {
    AddBlocks(request.num_blocks, layout, plan);
  } else if (cached) {
    AddBlocks(one, layout, plan);
  } else if (request.pool == PoolSize::kBudget) {
    AddBlocks(std::max(one, BlocksInBudget(plan, layout)), layout, plan);
  } else {
    AddBlocks(request.contexts > 1 ? ContextsInBudget(request.contexts, one, plan, layout) : one,
              layout, plan);
  }
  return plan;
}

// The plan of the longest context that fits, at least about `least_context` tokens; if none does,
// the last that was tried.
MemoryPlan LongestContext(const MemoryRequest& request, const KvLayout& layout,
                          std::int64_t least_context, std::int64_t expert_slots) {
  MemoryPlan plan = Price(request, layout, request.context, expert_slots);
  while (!Fits(plan) && !request.context_is_given && plan.context > least_context)
    plan = Price(request, layout, plan.context / 2, expert_slots);
  return plan;
}

// What is left goes to more experts.
void AddExperts(const ExpertsRequest& experts, MemoryPlan& plan) {
  const std::uint64_t more =
      std::min((plan.budget_bytes - plan.total_bytes()) / experts.slot_bytes,
               static_cast<std::uint64_t>(experts.experts - plan.expert_slots));
  plan.expert_slots += static_cast<std::int64_t>(more);
  plan.experts_bytes += more * experts.slot_bytes;
}

// Contexts are not cut below it for the sake of more experts in memory.
constexpr std::int64_t kEnoughContext = 4096;

MemoryPlan PlanExperts(const MemoryRequest& request, const KvLayout& layout) {
  const ExpertsRequest& experts = request.experts;
  if (experts.slots > 0) return LongestContext(request, layout, layout.block_size, experts.slots);
  MemoryPlan plan = LongestContext(request, layout, kEnoughContext, 0);
  if (Fits(plan)) return plan;
  plan = LongestContext(request, layout, kEnoughContext,
                        std::max(experts.least_slots, experts.experts / 2));
  if (!Fits(plan)) plan = LongestContext(request, layout, layout.block_size, experts.least_slots);
  if (Fits(plan)) AddExperts(experts, plan);
  return plan;
}

std::string Shortage(const MemoryPlan& plan, const ExpertsRequest& experts) {
  std::string text = std::to_string(plan.budget_bytes) + " bytes are too few: weights need " +
                     std::to_string(plan.weights_bytes);
  if (plan.expert_slots > 0) {
    text += ", a cache of the least number of experts, " + std::to_string(plan.expert_slots) +
            " of " + std::to_string(experts.experts) + ", " + std::to_string(plan.experts_bytes);
  }
  text += ", the KV cache of " + std::to_string(plan.context) + " tokens " +
          std::to_string(plan.kv_bytes) + " (and its index " + std::to_string(plan.kv_index_bytes) +
          "), the workspace " + std::to_string(plan.workspace_bytes) + ", the program " +
          std::to_string(plan.program_bytes);
  if (plan.expert_slots > 0) text += ": " + std::to_string(plan.total_bytes()) + " together";
  return text;
}

}  // namespace

MemoryReport ReportOf(const MemoryPlan& plan) {
  return {.budget_bytes = plan.budget_bytes,
          .weights_bytes = plan.weights_bytes,
          .experts_bytes = plan.experts_bytes,
          .kv_bytes = plan.kv_bytes,
          .kv_index_bytes = plan.kv_index_bytes,
          .workspace_bytes = plan.workspace_bytes,
          .program_bytes = plan.program_bytes,
          .total_bytes = plan.total_bytes()};
}

Result<MemoryPlan> PlanMemory(const MemoryRequest& request, const KvLayout& layout) {
  MemoryRequest resolved = request;
  if (resolved.memory == 0) resolved.memory = AvailableMemory();
  const MemoryPlan plan = request.experts.experts > 0
                              ? PlanExperts(resolved, layout)
                              : LongestContext(resolved, layout, layout.block_size, 0);
  if (Fits(plan)) return plan;
  return RuntimeError("memory", request.memory != 0 ? "--memory" : "machine",
                      Shortage(plan, request.experts));
}

}  // namespace folio
