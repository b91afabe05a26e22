#include "scheduler/scheduler.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kvcache/kv_sizing.h"

namespace folio {
namespace {

std::int64_t HeldBlocks(const SequenceBlocks& blocks) {
  std::int64_t held = 0;
  for (const BlockTable& table : blocks.tables) {
    held += std::count_if(table.begin(), table.end(), [](BlockId id) { return id != kNoBlock; });
  }
  return held;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, KvCacheManager& cache, Trace* trace)
    : options_(options), cache_(&cache), trace_(trace) {
  most_priority_ =
      std::numeric_limits<std::int64_t>::max() / 2 / std::max<std::int64_t>(options.aging_ns, 1);
  // The most tokens whose blocks the pool has: BlocksForSequence grows with its argument.
  std::int64_t low = 0;
  std::int64_t high = cache.pool().num_blocks() * cache.block_size();
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    const bool fits =
        cache.BlocksForSequence(middle, options.max_batch_tokens) <= cache.pool().num_blocks();
    (fits ? low : high) = fits ? middle : middle - 1;
  }
  longest_ = low;
}

Status Scheduler::CheckRoom(std::int64_t prompt_tokens) const {
  // One more for the first generated token.
  if (prompt_tokens + 1 > longest_) {
    return UsageError(
        "prompt", "tokens",
        std::to_string(prompt_tokens) + " need " +
            std::to_string(
                cache_->BlocksForSequence(prompt_tokens + 1, options_.max_batch_tokens)) +
            " KV blocks, the pool has " + std::to_string(cache_->pool().num_blocks()) +
            "; the longest prompt that fits has " +
            std::to_string(std::max<std::int64_t>(0, longest_ - 1)) + " tokens (--memory)");
  }
  return {};
}

Result<Sequence*> Scheduler::Add(Sequence sequence) {
  if (Status room = CheckRoom(sequence.chain.size()); !room) return std::unexpected(room.error());
  const SequenceId id = sequence.id;
  auto owned = std::make_unique<Sequence>(std::move(sequence));
  Sequence* added = owned.get();
  sequences_.emplace(id, std::move(owned));
  added->prompt_tokens = added->chain.size();
  const SequenceBlocks wishes = std::move(added->blocks);
  added->blocks = cache_->NewSequence(id);
  added->blocks.retention = wishes.retention;
  added->blocks.retained_tokens = wishes.retained_tokens;
  added->rank_ns = added->arrival_ns -
                   std::clamp<std::int64_t>(added->priority, -most_priority_, most_priority_) *
                       options_.aging_ns;
  waiting_.Insert(*added);
  return added;
}

Step Scheduler::Schedule(std::int64_t now_ns) {
  now_ns_ = now_ns;
  preempted_ = false;
  in_flight_.clear();
  cache_->pool().SetTime(now_ns);
  if (trace_ != nullptr) trace_->SetTime(now_ns);
  Step step;
  // Hits first: what others published must be held before anything is handed out.
  for (Sequence* sequence : running_) {
    sequence->waits_for = 0;
    if (sequence->remaining() > 1) TakeHits(*sequence);
  }
  ScheduleDecodes(step);
  SchedulePrompts(step);
  if (!preempted_) Admit(step);
  return step;
}

void Scheduler::ScheduleDecodes(Step& step) {
  for (std::size_t i = 0; i < running_.size() && step.rows < options_.max_batch_tokens; ++i) {
    if (running_[i]->remaining() == 1) ScheduleChunk(*running_[i], step);
  }
}

// Rows of the draft that fit into `rows_left` beside a row of each running sequence, and into
// blocks that nobody else will miss in this step.
std::int64_t Scheduler::DraftRows(const Sequence& sequence, std::int64_t rows_left) const {
  if (sequence.draft.empty() || sequence.remaining() != 1) return 0;
  const std::int64_t rows =
      std::min(static_cast<std::int64_t>(sequence.draft.size()), rows_left - num_running());
  if (rows <= 0) return 0;
  const std::int64_t needed = cache_->BlocksNeeded(sequence.blocks, 1 + rows);
  const std::int64_t plain = cache_->BlocksNeeded(sequence.blocks, 1);
  const bool spare = needed + num_running() * cache_->num_groups() <= cache_->pool().num_free();
  return needed == plain || spare ? rows : 0;
}

void Scheduler::SchedulePrompts(Step& step) {
  for (std::size_t i = 0; i < running_.size() && step.rows < options_.max_batch_tokens; ++i) {
    Sequence& sequence = *running_[i];
    if (sequence.remaining() > 1 && !WaitsInFlight(sequence)) ScheduleChunk(sequence, step);
  }
}

void Scheduler::Admit(Step& step) {
  while (!waiting_.empty() && step.rows < options_.max_batch_tokens) {
    Sequence& sequence = *waiting_.Next();
    const std::int64_t places = num_running() + reserved_ + sequence.choices;
    if (!running_.empty() && places > options_.max_running) return;
    const std::int64_t free = cache_->pool().num_free();
    if (sequence.id == refused_ && free <= refused_free_) return;
    if (!Start(sequence)) {
      refused_ = sequence.id;
      refused_free_ = free;
      return;
    }
    refused_ = 0;
    if (!WaitsInFlight(sequence)) ScheduleChunk(sequence, step);
    if (preempted_) return;
  }
}

// Takes what the cache has and, if there is room for the rest, lets the sequence run.
bool Scheduler::Start(Sequence& sequence) {
  const std::int64_t found = TakeHits(sequence);
  const std::int64_t needed =
      cache_->BlocksForSequence(sequence.chain.size(), options_.max_batch_tokens) -
      HeldBlocks(sequence.blocks);
  if (!running_.empty() && needed > cache_->pool().num_free()) {
    GiveUpBlocks(sequence);
    return false;
  }
  waiting_.Erase(sequence);
  const bool resumes = sequence.preemptions > 0;
  if (!resumes) sequence.scheduled_ns = now_ns_;
  reserved_ += sequence.choices - 1;
  sequence.state = SequenceState::kRunning;
  running_.insert(std::upper_bound(running_.begin(), running_.end(), &sequence, ByRank()),
                  &sequence);
  Emit(trace_, {.request = sequence.id,
                .a = resumes ? sequence.chain.size() : sequence.prompt_tokens,
                .b = found,
                .type = resumes ? EventType::kResumed : EventType::kScheduled});
  return true;
}

std::int64_t Scheduler::TakeHits(Sequence& sequence) {
  const std::int64_t gained = cache_->TakeHits(sequence.blocks, sequence.chain);
  // What a resumed sequence finds again was counted when it first ran.
  if (sequence.preemptions == 0) sequence.cached_tokens += gained;
  return gained;
}

bool Scheduler::WaitsInFlight(Sequence& sequence) {
  if (!cache_->caching()) return false;
  const auto next = static_cast<std::size_t>(sequence.blocks.computed / cache_->block_size());
  if (next >= sequence.chain.hashes().size()) return false;
  const auto claim = in_flight_.find(sequence.chain.hashes()[next]);
  if (claim == in_flight_.end()) return false;
  sequence.waits_for = claim->second;
  Emit(trace_, {.request = sequence.id,
                .a = sequence.blocks.computed,
                .b = static_cast<std::int64_t>(claim->second),
                .type = EventType::kSharedInFlight});
  return true;
}

void Scheduler::ScheduleChunk(Sequence& sequence, Step& step) {
  Chunk chunk{.sequence = &sequence, .first = sequence.blocks.computed};
  chunk.draft_rows = DraftRows(sequence, options_.max_batch_tokens - step.rows);
  chunk.rows =
      std::min(sequence.remaining() + chunk.draft_rows, options_.max_batch_tokens - step.rows);
  if (!AllocateByPreempting(sequence, chunk.rows, chunk.changes, step)) return;
  chunk.stored_rows = std::clamp<std::int64_t>(sequence.blocks.stored - chunk.first, 0, chunk.rows);
  chunk.last = chunk.first + chunk.rows - chunk.draft_rows == sequence.chain.size();
  step.rows += chunk.rows;
  waiting_.Charge(sequence.owner, chunk.rows);
  ForEachClaim(chunk, [&](const BlockHash& hash) { in_flight_.emplace(hash, sequence.id); });
  step.chunks.push_back(std::move(chunk));
}

// Calls `visit` with the hash of each block that the chunk writes rows of and that can become full
// with the tokens known now.
template <typename Visit>
void Scheduler::ForEachClaim(const Chunk& chunk, const Visit& visit) const {
  const std::span<const BlockHash> hashes = chunk.sequence->chain.hashes();
  const std::int64_t size = cache_->block_size();
  const std::int64_t end = BlocksForTokens(chunk.first + chunk.rows, cache_->block_size());
  for (std::int64_t i = chunk.first / size;
       i < std::min(end, static_cast<std::int64_t>(hashes.size())); ++i) {
    visit(hashes[static_cast<std::size_t>(i)]);
  }
}

bool Scheduler::AllocateByPreempting(Sequence& sequence, std::int64_t rows, BlockChanges& changes,
                                     Step& step) {
  while (!cache_->Allocate(sequence.blocks, rows, changes)) {
    Sequence* const victim = running_.back();
    Preempt(*victim, step);
    if (victim == &sequence) return false;
  }
  return true;
}

void Scheduler::Preempt(Sequence& sequence, Step& step) {
  preempted_ = true;
  ++sequence.preemptions;
  Emit(trace_,
       {.request = sequence.id, .a = sequence.blocks.computed, .type = EventType::kPreempted});
  StopRunning(sequence, &step);
  GiveUpBlocks(sequence);
  waiting_.Insert(sequence);
}

void Scheduler::StopRunning(Sequence& sequence, Step* step) {
  sequence.state = SequenceState::kWaiting;
  sequence.draft.clear();
  reserved_ -= sequence.choices - 1;
  std::erase(running_, &sequence);
  if (step == nullptr) return;
  std::erase_if(step->chunks, [&](const Chunk& chunk) {
    if (chunk.sequence != &sequence) return false;
    step->rows -= chunk.rows;
    ForEachClaim(chunk, [&](const BlockHash& hash) {
      const auto claim = in_flight_.find(hash);
      if (claim != in_flight_.end() && claim->second == sequence.id) in_flight_.erase(claim);
    });
    return true;
  });
}

void Scheduler::GiveUpBlocks(Sequence& sequence) {
  cache_->Free(sequence.blocks);
  if (sequence.preemptions == 0) sequence.cached_tokens = 0;
}

void Scheduler::Computed(const Chunk& chunk) {
  chunk.sequence->computed_rows += chunk.rows;
  Emit(trace_, {.request = chunk.sequence->id,
                .a = chunk.first,
                .b = chunk.rows,
                .type = EventType::kChunk});
  cache_->Advance(chunk.sequence->blocks, chunk.sequence->chain,
                  chunk.first + chunk.rows - chunk.draft_rows);
}

void Scheduler::Append(Sequence& sequence, std::int32_t token) {
  sequence.chain.Append({&token, 1}, RowKind::kGenerated);
}

void Scheduler::Accept(Sequence& sequence, std::int64_t count) {
  cache_->Advance(sequence.blocks, sequence.chain, sequence.blocks.computed + count);
}

Sequence* Scheduler::Fork(Sequence& parent, SequenceId id) {
  auto owned = std::make_unique<Sequence>(id, parent.chain);
  Sequence* fork = owned.get();
  fork->blocks = cache_->Fork(parent.blocks, id);
  fork->state = SequenceState::kRunning;
  fork->priority = parent.priority;
  fork->owner = parent.owner;
  fork->arrival_ns = parent.arrival_ns;
  fork->rank_ns = parent.rank_ns;
  fork->prompt_tokens = parent.prompt_tokens;
  fork->scheduled_ns = parent.scheduled_ns;
  --parent.choices;
  --reserved_;
  sequences_.emplace(id, std::move(owned));
  running_.insert(std::upper_bound(running_.begin(), running_.end(), fork, ByRank()), fork);
  return fork;
}

void Scheduler::Remove(Sequence& sequence, Step* step) {
  if (sequence.state == SequenceState::kRunning) {
    StopRunning(sequence, step);
  } else {
    waiting_.Erase(sequence);
  }
  cache_->Free(sequence.blocks);
  sequences_.erase(sequence.id);
}

Sequence* Scheduler::Find(SequenceId id) {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : found->second.get();
}

std::vector<const Sequence*> Scheduler::All() const {
  std::vector<const Sequence*> all;
  all.reserve(sequences_.size());
  for (const auto& [id, sequence] : sequences_) all.push_back(sequence.get());
  std::sort(all.begin(), all.end(),
            [](const Sequence* a, const Sequence* b) { return a->id < b->id; });
  return all;
}

}  // namespace folio
