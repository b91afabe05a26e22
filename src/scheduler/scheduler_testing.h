// Drives a scheduler without a model: "computing" is bookkeeping, and the token that follows a
// chain is a function of the chain, so that equal requests get equal replies.
#ifndef FOLIO_SCHEDULER_SCHEDULER_TESTING_H_
#define FOLIO_SCHEDULER_SCHEDULER_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/scheduler.h"

namespace folio {

inline std::int32_t NextToken(std::span<const std::int32_t> tokens) {
  std::uint32_t mix = 2166136261U;
  for (const std::int32_t token : tokens) {
    mix = (mix ^ static_cast<std::uint32_t>(token)) * 16777619U;
  }
  return static_cast<std::int32_t>(mix % 50);
}

struct TestPool {
  std::vector<KvGroupSpec> groups = {{}};
  int block_size = 4;
  std::int64_t num_blocks = 64;
  bool caching = true;
};

// What a step did with one sequence, which may be gone.
struct RanChunk {
  SequenceId id = 0;
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::int64_t stored_rows = 0;
  std::int64_t draft_rows = 0;
  BlockChanges changes;
};

class SchedulerRig {
 public:
  explicit SchedulerRig(const TestPool& pool, const SchedulerOptions& options = {})
      : trace(4096),
        cache(pool.groups, pool.block_size, pool.num_blocks, pool.caching, &trace),
        scheduler(options, cache, &trace) {}

  static std::vector<std::int32_t> Tokens(std::int64_t count, std::int32_t seed = 0) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < count; ++i) {
      tokens.push_back(seed + static_cast<std::int32_t>(i * 7 % 31));
    }
    return tokens;
  }

  // A request for `generate` tokens; its id, or 0 if it was refused.
  SequenceId Add(const std::vector<std::int32_t>& prompt, std::int64_t generate, int priority = 0,
                 int choices = 1, std::uint64_t owner = 0) {
    const SequenceId id = ++last_id_ * 100;
    TokenChain chain(hasher_, BlockHash{}, cache.block_size(), false);
    chain.Append(prompt, RowKind::kPrompt);
    Sequence sequence(id, std::move(chain));
    sequence.owner = owner;
    sequence.priority = priority;
    sequence.arrival_ns = now_ns;
    sequence.choices = choices;
    if (!scheduler.Add(std::move(sequence))) return 0;
    wanted_[id] = static_cast<std::int64_t>(prompt.size()) + generate;
    choices_[id] = choices;
    return id;
  }

  // One step. Sequences that have all their tokens leave with their chain in `finished`.
  std::vector<RanChunk> Run() {
    now_ns += step_ns;
    if (drafts) ProposeDrafts();
    const Step step = scheduler.Schedule(now_ns);
    std::vector<RanChunk> ran;
    std::int64_t rows = 0;
    for (const Chunk& chunk : step.chunks) {
      rows += chunk.rows;
      ran.push_back({.id = chunk.sequence->id,
                     .first = chunk.first,
                     .rows = chunk.rows,
                     .stored_rows = chunk.stored_rows,
                     .draft_rows = chunk.draft_rows,
                     .changes = chunk.changes});
      rows_computed += chunk.rows;
      rows_of[chunk.sequence->id] += chunk.rows;
      scheduler.Computed(chunk);
    }
    rows_add_up = rows_add_up && rows == step.rows;
    for (const Chunk& chunk : step.chunks) {
      if (chunk.last) Draw(*chunk.sequence, chunk.draft_rows);
    }
    return ran;
  }

  void Cancel(SequenceId id) {
    if (Sequence* const sequence = scheduler.Find(id)) scheduler.Remove(*sequence);
  }

  // Steps until all are done; false if that takes more than `most`.
  bool RunAll(int most = 10000) {
    for (int i = 0; i < most && !scheduler.empty(); ++i) Run();
    return scheduler.empty();
  }

  std::string Check() const {
    std::vector<const SequenceBlocks*> blocks;
    for (const Sequence* sequence : scheduler.All()) blocks.push_back(&sequence->blocks);
    return cache.CheckIntegrity(blocks);
  }

  Trace trace;
  KvCacheManager cache;
  Scheduler scheduler;
  std::int64_t now_ns = 0;
  std::int64_t step_ns = 1'000'000;
  std::int64_t rows_computed = 0;
  // A draft for each decode, if given: `right` tokens that will be drawn, then `wrong` others.
  struct Draft {
    std::int64_t right = 0;
    std::int64_t wrong = 0;
  };
  std::function<Draft(const Sequence& sequence)> drafts;
  std::int64_t accepted = 0;  // tokens of drafts
  bool rows_add_up = true;    // every step's rows were those of its chunks
  std::map<SequenceId, std::int64_t> rows_of;
  std::map<SequenceId, std::vector<std::int32_t>> finished;

 private:
  void ProposeDrafts() {
    for (Sequence* const sequence : scheduler.running()) {
      sequence->draft.clear();
      if (sequence->remaining() != 1 || choices_.contains(sequence->id)) continue;
      const Draft draft = drafts(*sequence);
      const std::int64_t most = wanted_[sequence->id] - sequence->chain.size() - 1;
      std::vector<std::int32_t> text(sequence->chain.tokens().begin(),
                                     sequence->chain.tokens().end());
      for (std::int64_t i = 0; i < std::min(most, draft.right + draft.wrong); ++i) {
        text.push_back(NextToken(text) + (i < draft.right ? 0 : 1));
        sequence->draft.push_back(text.back());
      }
    }
  }

  void Draw(Sequence& sequence, std::int64_t draft_rows) {
    const SequenceId id = sequence.id;
    for (int i = 1; choices_.contains(id) && i < choices_[id]; ++i) {
      const SequenceId fork = id + static_cast<SequenceId>(i);
      wanted_[fork] = wanted_[id];
      Sequence& other = *scheduler.Fork(sequence, fork);
      // Forks differ from their first token on.
      Grow(other, NextToken(other.chain.tokens()) + i);
    }
    choices_.erase(id);
    Grow(sequence, NextToken(sequence.chain.tokens()), draft_rows);
  }

  void Grow(Sequence& sequence, std::int32_t token, std::int64_t draft_rows = 0) {
    std::int64_t right = 0;
    for (; right < draft_rows && sequence.draft[static_cast<std::size_t>(right)] == token;
         ++right) {
      scheduler.Append(sequence, token);
      token = NextToken(sequence.chain.tokens());
    }
    scheduler.Accept(sequence, right);
    accepted += right;
    if (sequence.chain.size() < wanted_[sequence.id]) scheduler.Append(sequence, token);
    if (sequence.chain.size() < wanted_[sequence.id]) return;
    const auto tokens = sequence.chain.tokens();
    finished[sequence.id] = {tokens.begin(), tokens.end()};
    scheduler.Remove(sequence);
  }

  std::shared_ptr<BlockHasher> hasher_ = std::make_shared<BlockHasher>();
  std::uint64_t last_id_ = 0;
  std::map<SequenceId, std::int64_t> wanted_;
  std::map<SequenceId, int> choices_;
};

}  // namespace folio

#endif  // FOLIO_SCHEDULER_SCHEDULER_TESTING_H_
