#include "plan/engine_memory.h"

#include "model/forward.h"
#include "plan/layer_kvs.h"
#include "sampling/drafter.h"
#include "trace/trace.h"

namespace folio {
namespace {

constexpr std::uint64_t kProgramBytes = std::uint64_t{48} << 20;
constexpr std::uint64_t kBytesPerVocabularyToken = 64;

}  // namespace

std::uint64_t ProgramBytes(std::int64_t vocab) {
  return kProgramBytes + static_cast<std::uint64_t>(vocab) * kBytesPerVocabularyToken;
}

std::uint64_t StepWorkspaceBytes(const ModelConfig& config, const KvLayout& layout,
                                 const EngineSizes& sizes, std::int64_t context) {
  const ForwardOptions options = {.isa = sizes.isa,
                                  .numerics = sizes.numerics,
                                  .max_rows = sizes.max_batch_tokens,
                                  .max_context = context};
  return Forward::WorkspaceBytes(config, LayerKvs(layout, config, nullptr), options,
                                 sizes.threads) +
         static_cast<std::uint64_t>(sizes.max_logit_rows * config.vocab) * sizeof(float);
}

MemoryRequest MemoryRequestOf(const ModelConfig& config, const KvLayout& layout,
                              const WeightBytes& weights, const EngineSizes& sizes) {
  return {.max_batch_tokens = sizes.max_batch_tokens,
          .weights_bytes = weights.all,
          .experts = {.experts = weights.experts,
                      .least_slots = config.router.top_k,
                      .dense_bytes = weights.dense,
                      .bytes_without_slots = weights.cache_without_slots,
                      .slot_bytes = weights.cache_slot},
          .program_bytes = ProgramBytes(config.vocab),
          .fixed_index_bytes = sizes.prompt_log_bytes + sizes.trace_events * sizeof(Event) +
                               static_cast<std::uint64_t>(sizes.max_drafters) *
                                   Drafter::Bytes(config.context_length),
          .workspace_bytes = [&config, &layout, sizes](std::int64_t context) {
            return StepWorkspaceBytes(config, layout, sizes, context);
          }};
}

}  // namespace folio
