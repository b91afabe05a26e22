#include "engine/load_options.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "engine/numerics_name.h"

namespace folio {
namespace {

constexpr std::int64_t kMostRequests = std::int64_t{1} << 20;
constexpr std::int64_t kMostDraft = 256;

Status CheckWhole(std::string name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return {};
  return UsageError(std::move(name), "",
                    std::to_string(value) + " is not from " + std::to_string(least) + " to " +
                        std::to_string(most));
}

}  // namespace

Result<LoadOptions> LoadOptionsOf(const EngineOptions& options) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto kv_type = KvTypeFromName(options.kv_type);
  if (!kv_type) {
    return UsageError("--kv-type", "", "'" + options.kv_type + "' is none of bf16, f16, f32, q8_0");
  }
  const Result<Numerics> numerics = ParseNumerics(options.numerics);
  if (!numerics) return std::unexpected(numerics.error());
  if (options.block_size <= 0 || options.block_size % 16 != 0) {
    return UsageError("--block-size", "",
                      std::to_string(options.block_size) + " is no positive multiple of 16");
  }
  for (const Status& checked :
       {CheckWhole("--max-requests", options.max_requests, 1, kMostRequests),
        CheckWhole("--max-draft-tokens", options.max_draft_tokens, 0, kMostDraft),
        CheckWhole("--max-queue", options.max_queue, 1, kMost),
        CheckWhole("contexts", options.contexts, 0, kMost)}) {
    if (!checked) return std::unexpected(checked.error());
  }
  return LoadOptions{.threads = options.threads,
                     .context = options.context,
                     .memory = options.memory,
                     .block_size = options.block_size,
                     .kv_type = *kv_type,
                     .numerics = *numerics,
                     .max_batch_tokens = options.max_batch_tokens,
                     .max_logit_rows = options.max_requests + options.max_draft_tokens,
                     .max_drafters = options.max_draft_tokens > 0 ? options.max_requests : 0,
                     .pool = options.contexts > 0 ? PoolSize::kContexts : PoolSize::kBudget,
                     .pool_contexts = options.contexts,
                     .chat_template = options.chat_template,
                     .prefix_cache = options.prefix_cache,
                     .trace_events = options.trace_events,
                     .prompt_log_bytes = options.prompt_log_bytes};
}

}  // namespace folio
