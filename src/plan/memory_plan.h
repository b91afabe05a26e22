// Where the memory goes: planned before anything is reserved, and an upper bound from then on.
#ifndef FOLIO_PLAN_MEMORY_PLAN_H_
#define FOLIO_PLAN_MEMORY_PLAN_H_

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "folio/engine.h"
#include "kvcache/kv_sizing.h"

namespace folio {

struct MemoryPlan {
  std::uint64_t budget_bytes = 0;
  std::uint64_t weights_bytes = 0;    // without the experts, where these are cached
  std::uint64_t experts_bytes = 0;    // of their cache
  std::uint64_t kv_bytes = 0;         // num_blocks blocks
  std::uint64_t kv_index_bytes = 0;   // who holds which block, hashes, recent prompts
  std::uint64_t workspace_bytes = 0;  // activations of a step, logits
  std::uint64_t program_bytes = 0;    // code, tokenizer, chat template, threads
  std::int64_t num_blocks = 0;
  std::int64_t context = 0;       // most tokens of one sequence
  std::int64_t expert_slots = 0;  // experts in memory at a time; 0: all, or the model has none

  std::uint64_t total_bytes() const {
    return weights_bytes + experts_bytes + kv_bytes + kv_index_bytes + workspace_bytes +
           program_bytes;
  }
};

MemoryReport ReportOf(const MemoryPlan& plan);

// How large the pool of KV blocks is.
enum class PoolSize : std::uint8_t {
  kContexts,  // so many sequences of the whole context, as far as the budget goes but one at least
  kBudget,    // what the budget leaves
  kGiven,     // MemoryRequest::num_blocks
};

// The experts of a model that can run with some of them in memory.
struct ExpertsRequest {
  std::int64_t experts = 0;               // of all layers; 0: the model has none
  std::int64_t least_slots = 0;           // fewer are refused
  std::int64_t slots = 0;                 // exactly so many, whatever the budget; 0 = as it allows
  std::uint64_t dense_bytes = 0;          // weights without them
  std::uint64_t bytes_without_slots = 0;  // of the cache
  std::uint64_t slot_bytes = 0;
};

struct MemoryRequest {
  std::uint64_t memory = 0;  // bytes; 0 = what the machine (its cgroup) has free
  bool context_is_given = false;
  std::int64_t context = 0;
  PoolSize pool = PoolSize::kContexts;
  std::int64_t contexts = 1;    // of kContexts
  std::int64_t num_blocks = 0;  // of kGiven
  std::int64_t max_batch_tokens = 0;
  std::uint64_t weights_bytes = 0;  // all of them
  ExpertsRequest experts;
  std::uint64_t program_bytes = 0;
  std::uint64_t fixed_index_bytes = 0;
  // Bytes of a step's buffers, for a context.
  std::function<std::uint64_t(std::int64_t context)> workspace_bytes;
};

// Fits the parts into the budget: the context is halved until they do, unless it was given. Where
// not all experts fit beside a context of some thousand tokens, some of them are in memory at a
// time: as many as fit beside the blocks of one such context. A runtime error with all the numbers
// if nothing fits.
Result<MemoryPlan> PlanMemory(const MemoryRequest& request, const KvLayout& layout);

}  // namespace folio

#endif  // FOLIO_PLAN_MEMORY_PLAN_H_
