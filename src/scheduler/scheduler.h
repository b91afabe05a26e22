// Which sequences run in a step, and how many rows of each. Knows no model.
//
//   - A step has a budget of rows. Sequences that wait for one row only (decodes) come first; the
//     rest of the budget goes to prompts, in chunks, in order of rank.
//   - Rank: by arrival, where each step of priority counts as `aging_ns` earlier. So within a
//     priority it is first come first served, and whoever waits is overtaken by a higher priority
//     for a bounded time only.
//   - Who waits runs in turn by owner, and by rank among one owner's: see waiting_queue.h.
//   - A sequence whose next block another one computes in this very step waits for it, and takes it
//     from the cache in the next. Such a claim lives for one step only, so nothing can be left
//     waiting for a sequence that was cancelled, preempted or failed.
//   - A decode may bring a draft: rows that are verified beside it, never at another's cost in
//   blocks
//     or rows.
//   - When blocks run out, the sequence of the last rank gives up all of its own and waits again;
//   it
//     resumes from what the cache still has of them.
//
// Work per step is O(running + new blocks).
#ifndef FOLIO_SCHEDULER_SCHEDULER_H_
#define FOLIO_SCHEDULER_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kvcache/kv_cache_manager.h"
#include "scheduler/sequence.h"
#include "scheduler/waiting_queue.h"
#include "trace/trace.h"

namespace folio {

struct SchedulerOptions {
  std::int64_t max_batch_tokens = 512;  // rows of one step
  std::int64_t max_running = 64;        // sequences
  std::int64_t aging_ns = 30'000'000'000;
};

// Rows [first, first + rows) of a sequence, computed in one step.
struct Chunk {
  Sequence* sequence = nullptr;
  std::int64_t first = 0;
  std::int64_t rows = 0;
  // Leading rows whose keys and values are stored already: only their queries are computed.
  std::int64_t stored_rows = 0;
  // The last rows, so many, are of the sequence's draft and not of its chain.
  std::int64_t draft_rows = 0;
  bool last = false;     // reaches the end of the chain: logits are wanted from its last row on
  BlockChanges changes;  // to be made true in storage before the step computes
};

struct Step {
  std::vector<Chunk> chunks;
  std::int64_t rows = 0;
};

class Scheduler {
 public:
  // `cache` and `trace` (may be null) must outlive the scheduler.
  Scheduler(const SchedulerOptions& options, KvCacheManager& cache, Trace* trace);

  // A usage error with the numbers if so many tokens could never fit the pool. May be called from
  // any thread.
  Status CheckRoom(std::int64_t prompt_tokens) const;
  // The most tokens a sequence can have.
  std::int64_t LongestSequence() const { return longest_; }

  // Puts a sequence into the queue. Its id must be new, its chain not empty.
  Result<Sequence*> Add(Sequence sequence);

  // What to compute next; empty if nothing can run. `now_ns`: steady clock.
  Step Schedule(std::int64_t now_ns);

  // A chunk of the step was computed.
  void Computed(const Chunk& chunk);

  // A sequence whose last token is computed goes on.
  void Append(Sequence& sequence, std::int32_t token);
  // The first `count` tokens of the draft were verified: they are computed, and appended by now.
  void Accept(Sequence& sequence, std::int64_t count);
  // A running sequence with the same tokens, sharing all blocks. Its place was kept by `choices` of
  // `parent`, which falls by one.
  Sequence* Fork(Sequence& parent, SequenceId id);
  // Finished, cancelled or failed: its full blocks stay in the cache. `step`, if one is between
  // Schedule and Computed, loses the sequence's chunk.
  void Remove(Sequence& sequence, Step* step = nullptr);

  Sequence* Find(SequenceId id);
  std::int64_t num_running() const { return static_cast<std::int64_t>(running_.size()); }
  std::int64_t num_waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  bool empty() const { return sequences_.empty(); }
  const std::vector<Sequence*>& running() const { return running_; }
  // About as they will run.
  std::vector<const Sequence*> Waiting() const { return waiting_.InOrder(); }
  std::vector<const Sequence*> All() const;

 private:
  void ScheduleDecodes(Step& step);
  void SchedulePrompts(Step& step);
  void Admit(Step& step);
  bool Start(Sequence& sequence);
  std::int64_t TakeHits(Sequence& sequence);
  bool WaitsInFlight(Sequence& sequence);
  void ScheduleChunk(Sequence& sequence, Step& step);
  std::int64_t DraftRows(const Sequence& sequence, std::int64_t rows_left) const;
  template <typename Visit>
  void ForEachClaim(const Chunk& chunk, const Visit& visit) const;
  // False if the sequence was preempted itself for want of blocks.
  bool AllocateByPreempting(Sequence& sequence, std::int64_t rows, BlockChanges& changes,
                            Step& step);
  void Preempt(Sequence& sequence, Step& step);
  void StopRunning(Sequence& sequence, Step* step);
  void GiveUpBlocks(Sequence& sequence);

  SchedulerOptions options_;
  KvCacheManager* cache_;
  Trace* trace_;
  std::int64_t most_priority_ = 0;  // more would overflow a rank
  std::int64_t longest_ = 0;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  WaitingQueue waiting_;
  std::vector<Sequence*> running_;  // by rank
  std::int64_t reserved_ = 0;       // places kept for forks of running sequences
  std::int64_t now_ns_ = 0;
  bool preempted_ = false;  // in this step
  // The queue's head did not fit when so many blocks were free: not tried again before more are.
  SequenceId refused_ = 0;
  std::int64_t refused_free_ = 0;
  // Blocks that chunks of this step will have touched, by the hash they get when full.
  std::unordered_map<BlockHash, SequenceId, BlockHashHasher> in_flight_;
};

}  // namespace folio

#endif  // FOLIO_SCHEDULER_SCHEDULER_H_
