// From blocks and tokens to logits: makes what the cache decided true in memory, and runs the
// forward pass over any mix of sequences.
#ifndef FOLIO_ENGINE_BATCH_RUNNER_H_
#define FOLIO_ENGINE_BATCH_RUNNER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/loaded_model.h"
#include "kvcache/kv_cache_manager.h"

namespace folio {

// New rows of one sequence. What it points to must stay until Run returns.
struct BatchChunk {
  const SequenceBlocks* blocks = nullptr;
  std::span<const std::int32_t> tokens;  // one a row
  std::span<const std::int32_t> draft;   // of the rows after them
  std::int64_t first = 0;                // position of the first
  std::int64_t stored_rows = 0;          // see AttentionSequence
  bool record_experts = false;
  std::int64_t logit_rows = 0;  // of so many of its last rows logits are wanted
};

class BatchRunner {
 public:
  explicit BatchRunner(LoadedModel& model);

  // Commits fresh blocks and copies shared ones. A runtime error if the system gives no memory:
  // nothing was copied then.
  Status Prepare(const BlockChanges& changes);

  // logits: [wanted rows, vocab], in the order of the chunks. Blocks must be prepared.
  void Run(std::span<const BatchChunk> chunks, float* logits);

  // Of the last Run: what went wrong with a chunk's own rows, and with the reading of experts for
  // any of them, drafts included. Its blocks must not be used.
  Status CheckRows(std::size_t chunk) const;

  // Of the last Run: the experts of a chunk's rows, drafts included, [rows, layers with experts,
  // top_k]; empty if it did not want them recorded.
  std::span<const std::int16_t> ExpertsOf(std::size_t chunk) const;

 private:
  std::size_t ExpertsOfARow() const;

  LoadedModel* model_;
  // Kept between calls.
  std::vector<std::int32_t> tokens_;
  std::vector<std::int64_t> logit_rows_;
  std::vector<std::size_t> first_rows_;  // of the chunks, and the end of the last
  std::vector<std::size_t> own_rows_;
  std::vector<std::int16_t> routed_experts_;  // of all rows, if any chunk wants them
  std::vector<std::vector<AttentionSequence>> groups_;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_BATCH_RUNNER_H_
