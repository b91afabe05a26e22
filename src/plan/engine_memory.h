// What an engine takes beside its pool of KV blocks: asked by the engine before it loads, and by
// whoever only wants to know.
#ifndef FOLIO_PLAN_ENGINE_MEMORY_H_
#define FOLIO_PLAN_ENGINE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "cpu/isa.h"
#include "kernels/product.h"
#include "kvcache/kv_sizing.h"
#include "model/config.h"
#include "model/weights.h"
#include "plan/memory_plan.h"

namespace folio {

struct EngineSizes {
  Isa isa = Isa::kScalar;
  Numerics numerics = Numerics::kInt16;
  int threads = 1;
  std::int64_t max_batch_tokens = 512;  // rows of one forward pass
  std::int64_t max_logit_rows = 1;      // rows whose logits are kept at a time
  std::int64_t max_drafters = 0;        // replies that are drafted at a time
  std::uint64_t prompt_log_bytes = 0;
  std::size_t trace_events = 0;
};

// Code and read-only data that stay in memory, and what one token of the vocabulary costs in the
// tokenizer and the template's trial: measured, rounded up.
std::uint64_t ProgramBytes(std::int64_t vocab);

// Bytes of a step's buffers, for sequences of `context` tokens.
std::uint64_t StepWorkspaceBytes(const ModelConfig& config, const KvLayout& layout,
                                 const EngineSizes& sizes, std::int64_t context);

// The request for everything; the budget, the context and the pool's size are the caller's to set.
// It keeps references to `config` and `layout`.
MemoryRequest MemoryRequestOf(const ModelConfig& config, const KvLayout& layout,
                              const WeightBytes& weights, const EngineSizes& sizes);

}  // namespace folio

#endif  // FOLIO_PLAN_ENGINE_MEMORY_H_
