// One line of tokens that the scheduler knows: a request, or one choice of it.
#ifndef FOLIO_SCHEDULER_SEQUENCE_H_
#define FOLIO_SCHEDULER_SEQUENCE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "kvcache/kv_cache_manager.h"
#include "kvcache/token_chain.h"

namespace folio {

using SequenceId = std::uint64_t;

enum class SequenceState : std::uint8_t {
  kWaiting,  // holds no blocks
  kRunning,
};

struct Sequence {
  Sequence(SequenceId its_id, TokenChain its_chain) : id(its_id), chain(std::move(its_chain)) {}

  SequenceId id;
  TokenChain chain;  // prompt, then what was generated
  // Tokens that may follow, to be verified beside the next decode; set between two steps.
  std::vector<std::int32_t> draft;
  SequenceBlocks blocks;
  SequenceState state = SequenceState::kWaiting;
  std::uint64_t owner = 0;         // who asked for it: owners take turns
  int priority = 0;                // higher runs sooner
  std::int64_t arrival_ns = 0;     // steady clock
  std::int64_t prompt_tokens = 0;  // leading tokens of chain
  int choices = 1;                 // running places it takes: forks of it follow
  std::int64_t rank_ns = 0;        // its arrival, made earlier by its priority: the scheduler's
  // For the record.
  std::int64_t scheduled_ns = -1;  // when it first ran; -1 = not yet
  std::int64_t cached_tokens = 0;  // of the prompt, found in the cache or computed by another
  std::int64_t computed_rows = 0;
  std::int64_t preemptions = 0;
  SequenceId waits_for = 0;  // in this step another computes its next block; 0 = none

  std::pair<std::int64_t, SequenceId> rank() const { return {rank_ns, id}; }
  // Rows that are not computed yet.
  std::int64_t remaining() const { return chain.size() - blocks.computed; }
};

}  // namespace folio

#endif  // FOLIO_SCHEDULER_SEQUENCE_H_
