#include "kvcache/kv_cache_manager.h"

#include <algorithm>
#include <utility>

#include "kvcache/kv_sizing.h"
#include "kvcache/prefix_match.h"

namespace folio {
namespace {

BlockId& Entry(BlockTable& table, std::int64_t index) {
  return table[static_cast<std::size_t>(index)];
}

std::int64_t Length(const BlockTable& table) { return static_cast<std::int64_t>(table.size()); }

}  // namespace

KvCacheManager::KvCacheManager(std::vector<KvGroupSpec> groups, int block_size,
                               std::int64_t num_blocks, bool caching, Trace* trace)
    : groups_(std::move(groups)),
      block_size_(block_size),
      caching_(caching),
      trace_(trace),
      pool_(num_blocks, trace) {}

SequenceBlocks KvCacheManager::NewSequence(std::uint64_t request) const {
  return {.tables = std::vector<BlockTable>(groups_.size()), .request = request};
}

std::int64_t KvCacheManager::MatchedTokens(const TokenChain& chain) const {
  return caching_ ? FindPrefixMatch(pool_, groups_, chain, block_size_, 0).tokens : 0;
}

std::int64_t KvCacheManager::TakeHits(SequenceBlocks& sequence, const TokenChain& chain) {
  if (!caching_) return 0;
  const PrefixMatch match = FindPrefixMatch(pool_, groups_, chain, block_size_, sequence.published);
  const std::int64_t gained = match.tokens - sequence.computed;
  if (gained <= 0) return 0;
  pool_.SetRequest(sequence.request);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    TakeGroupHits(sequence, chain, g, match.blocks, match.tokens);
  }
  sequence.computed = match.tokens;
  sequence.stored = match.blocks * block_size_;
  sequence.published = match.blocks;
  return gained;
}

void KvCacheManager::TakeGroupHits(SequenceBlocks& sequence, const TokenChain& chain,
                                   std::size_t group, std::int64_t blocks, std::int64_t position) {
  BlockTable& table = sequence.tables[group];
  if (Length(table) < blocks) table.resize(static_cast<std::size_t>(blocks), kNoBlock);
  LeaveWindow(table, group, sequence.computed, position);
  for (std::int64_t i = std::max(FirstSeen(group, position), sequence.published); i < blocks; ++i) {
    const BlockId id =
        pool_.Lookup(chain.hashes()[static_cast<std::size_t>(i)], static_cast<int>(group));
    pool_.Touch(id);
    DropEntry(table, i);
    Entry(table, i) = id;
    MarkBlock(sequence, i, id);
    Emit(trace_, {.request = sequence.request,
                  .a = i,
                  .block = id,
                  .group = static_cast<std::int16_t>(group),
                  .type = EventType::kHit});
  }
}

KvCacheManager::EntryRange KvCacheManager::WrittenEntries(const SequenceBlocks& sequence,
                                                          std::int64_t end_position) const {
  const std::int64_t length = groups_.empty() ? 0 : Length(sequence.tables[0]);
  return {.first = sequence.stored / block_size_,
          .end = std::min(length, BlocksForTokens(end_position, block_size_))};
}

std::int64_t KvCacheManager::BlocksNeeded(const SequenceBlocks& sequence, std::int64_t rows) const {
  const std::int64_t end = sequence.computed + rows;
  const EntryRange written = WrittenEntries(sequence, end);
  std::int64_t needed = 0;
  for (const BlockTable& table : sequence.tables) {
    needed += std::max<std::int64_t>(BlocksForTokens(end, block_size_) - Length(table), 0);
    for (std::int64_t i = written.first; i < written.end; ++i) {
      if (pool_.block(table[static_cast<std::size_t>(i)]).ref_cnt > 1) ++needed;
    }
  }
  return needed;
}

bool KvCacheManager::Allocate(SequenceBlocks& sequence, std::int64_t rows, BlockChanges& changes) {
  const std::int64_t needed = BlocksNeeded(sequence, rows);
  if (needed > pool_.num_free()) return false;
  if (needed == 0) return true;
  pool_.SetRequest(sequence.request);
  const std::int64_t end = sequence.computed + rows;
  const EntryRange written = WrittenEntries(sequence, end);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    BlockTable& table = sequence.tables[g];
    const int group = static_cast<int>(g);
    for (std::int64_t i = written.first; i < written.end; ++i) {
      const BlockId shared = Entry(table, i);
      if (pool_.block(shared).ref_cnt == 1) continue;
      const BlockId own = pool_.Allocate(group);
      changes.fresh.push_back(own);
      changes.copies.push_back({.from = shared, .to = own});
      Emit(trace_, {.request = sequence.request,
                    .a = shared,
                    .block = own,
                    .group = static_cast<std::int16_t>(group),
                    .type = EventType::kCopied});
      DropEntry(table, i);
      Entry(table, i) = own;
    }
    while (Length(table) < BlocksForTokens(end, block_size_)) {
      table.push_back(pool_.Allocate(group));
      changes.fresh.push_back(table.back());
    }
  }
  return true;
}

void KvCacheManager::Advance(SequenceBlocks& sequence, const TokenChain& chain,
                             std::int64_t tokens) {
  if (tokens <= sequence.computed) return;
  pool_.SetRequest(sequence.request);
  if (caching_) {
    const std::int64_t full =
        std::min(tokens / block_size_, static_cast<std::int64_t>(chain.hashes().size()));
    for (; sequence.published < full; ++sequence.published) {
      const std::int64_t index = sequence.published;
      const BlockHash& hash = chain.hashes()[static_cast<std::size_t>(index)];
      for (std::size_t g = 0; g < groups_.size(); ++g) PublishBlock(sequence, g, index, hash);
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    LeaveWindow(sequence.tables[g], g, sequence.computed, tokens);
  }
  sequence.computed = tokens;
  sequence.stored = tokens;
}

void KvCacheManager::PublishBlock(SequenceBlocks& sequence, std::size_t group, std::int64_t index,
                                  const BlockHash& hash) {
  BlockTable& table = sequence.tables[group];
  const BlockId own = Entry(table, index);
  const BlockId kept = pool_.Publish(own, hash, static_cast<int>(group));
  if (kept == own) {
    Emit(trace_, {.request = sequence.request,
                  .a = index,
                  .block = own,
                  .group = static_cast<std::int16_t>(group),
                  .type = EventType::kPublished});
  } else {
    pool_.Touch(kept);
    DropEntry(table, index);
    Entry(table, index) = kept;
  }
  MarkBlock(sequence, index, kept);
}

void KvCacheManager::MarkBlock(const SequenceBlocks& sequence, std::int64_t index, BlockId id) {
  if (sequence.retention != Retention::kNone &&
      (index + 1) * block_size_ <= sequence.retained_tokens) {
    pool_.Mark(id, sequence.retention);
  }
}

// As the next position goes from `from` to `to`.
void KvCacheManager::LeaveWindow(BlockTable& table, std::size_t group, std::int64_t from,
                                 std::int64_t to) {
  const std::int64_t end = std::min(FirstSeen(group, to), Length(table));
  for (std::int64_t i = FirstSeen(group, from); i < end; ++i) DropEntry(table, i);
}

void KvCacheManager::DropEntry(BlockTable& table, std::int64_t index) {
  const BlockId id = std::exchange(Entry(table, index), kNoBlock);
  if (id != kNoBlock) pool_.Release(id);
}

SequenceBlocks KvCacheManager::Fork(const SequenceBlocks& sequence, std::uint64_t request) {
  SequenceBlocks fork = sequence;
  fork.request = request;
  for (BlockTable& table : fork.tables) {
    table.resize(static_cast<std::size_t>(BlocksForTokens(sequence.stored, block_size_)));
    for (const BlockId id : table) {
      if (id != kNoBlock) pool_.Touch(id);
    }
  }
  return fork;
}

void KvCacheManager::Free(SequenceBlocks& sequence) {
  pool_.SetRequest(sequence.request);
  const std::int64_t length = groups_.empty() ? 0 : Length(sequence.tables[0]);
  for (std::int64_t i = length - 1; i >= 0; --i) {
    for (BlockTable& table : sequence.tables) DropEntry(table, i);
  }
  for (BlockTable& table : sequence.tables) table.clear();
  sequence.computed = 0;
  sequence.stored = 0;
  sequence.published = 0;
}

std::int64_t KvCacheManager::BlocksForSequence(std::int64_t tokens, std::int64_t chunk) const {
  return BlocksHeldAtMost(tokens, groups_, chunk, block_size_);
}

}  // namespace folio
