// Cost of the block pool's and the cache manager's operations, for pools of a thousand blocks to a
// million: what grows with the pool is cache misses, and nothing else may.
//
//   kvcache_bench [--benchmark_filter=Evict]
//
// Pools are full of cached blocks with random names, as after long use.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "kvcache/block_hash.h"
#include "kvcache/block_pool.h"
#include "kvcache/kv_cache_manager.h"
#include "kvcache/token_chain.h"

namespace {

using folio::BlockChanges;
using folio::BlockHash;
using folio::BlockId;
using folio::BlockPool;
using folio::KvCacheManager;
using folio::KvGroupSpec;
using folio::RowKind;
using folio::SequenceBlocks;
using folio::TokenChain;

constexpr int kBlockSize = 16;

// SplitMix64.
std::uint64_t Random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15U;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

// The n-th name.
BlockHash NameOf(std::uint64_t n) {
  BlockHash hash;
  for (std::size_t i = 0; i < hash.size(); i += sizeof(n)) {
    const std::uint64_t word = Random(n);
    std::memcpy(hash.data() + i, &word, sizeof(word));
  }
  return hash;
}

// Every block cached, under names 0 and up, freed in a random order.
void FillWithCached(BlockPool& pool) {
  std::vector<BlockId> ids;
  for (std::int64_t i = 0; i < pool.num_blocks(); ++i) {
    const BlockId id = pool.Allocate(0);
    pool.Publish(id, NameOf(static_cast<std::uint64_t>(i)), 0);
    ids.push_back(id);
  }
  std::uint64_t state = 1;
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[Random(state) % i]);
  for (const BlockId id : ids) pool.Release(id);
}

TokenChain Chain(std::int64_t tokens, std::int32_t first) {
  TokenChain chain(std::make_shared<folio::BlockHasher>(), BlockHash{}, kBlockSize, false);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  for (std::int32_t& id : ids) id = first++;
  chain.Append(ids, RowKind::kPrompt);
  return chain;
}

void PoolSizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("blocks")->Arg(1'000)->Arg(30'000)->Arg(1'000'000);
}

// The oldest cached block is evicted, handed out, filled, published and let go.
void BM_EvictPublishRelease(benchmark::State& state) {
  BlockPool pool(state.range(0));
  FillWithCached(pool);
  auto name = static_cast<std::uint64_t>(pool.num_blocks());
  for (auto _ : state) {
    const BlockId id = pool.Allocate(0);
    pool.Publish(id, NameOf(name++), 0);
    pool.Release(id);
  }
}
BENCHMARK(BM_EvictPublishRelease)->Apply(PoolSizes);

// A random cached block is found, taken out of the middle of the queue, and let go.
void BM_HitRelease(benchmark::State& state) {
  BlockPool pool(state.range(0));
  FillWithCached(pool);
  std::uint64_t random = 2;
  for (auto _ : state) {
    const std::uint64_t name = Random(random) % static_cast<std::uint64_t>(pool.num_blocks());
    const BlockId id = pool.Lookup(NameOf(name), 0);
    pool.Touch(id);
    pool.Release(id);
  }
}
BENCHMARK(BM_HitRelease)->Apply(PoolSizes);

void BM_Miss(benchmark::State& state) {
  BlockPool pool(state.range(0));
  FillWithCached(pool);
  auto name = static_cast<std::uint64_t>(pool.num_blocks());
  for (auto _ : state) benchmark::DoNotOptimize(pool.Lookup(NameOf(name++), 0));
}
BENCHMARK(BM_Miss)->Apply(PoolSizes);

// What the above spend on making names.
void BM_Name(benchmark::State& state) {
  std::uint64_t name = 0;
  for (auto _ : state) benchmark::DoNotOptimize(NameOf(name++));
}
BENCHMARK(BM_Name);

// One decode step of 64 requests of 2,000 tokens each, hashing of what became full included.
void BM_DecodeStep64(benchmark::State& state) {
  constexpr int kRequests = 64;
  KvCacheManager cache({KvGroupSpec{}}, kBlockSize, state.range(0), true, nullptr);
  FillWithCached(cache.pool());
  std::vector<TokenChain> chains;
  std::vector<SequenceBlocks> sequences;
  BlockChanges changes;
  const auto start = [&] {
    chains.clear();
    sequences.clear();
    for (std::int32_t i = 0; i < kRequests; ++i) {
      chains.push_back(Chain(2000, i * 10'000));
      sequences.push_back(cache.NewSequence(static_cast<std::uint64_t>(i)));
      cache.Allocate(sequences.back(), 2000, changes);
      cache.Advance(sequences.back(), chains.back(), 2000);
    }
  };
  start();
  std::int32_t token = 1'000'000;
  for (auto _ : state) {
    if (chains[0].size() > 4000) {
      state.PauseTiming();
      for (SequenceBlocks& sequence : sequences) cache.Free(sequence);
      start();
      state.ResumeTiming();
    }
    changes.fresh.clear();
    for (std::size_t i = 0; i < kRequests; ++i) {
      ++token;
      chains[i].Append({&token, 1}, RowKind::kGenerated);
      cache.Allocate(sequences[i], 1, changes);
      cache.Advance(sequences[i], chains[i], chains[i].size());
    }
  }
}
BENCHMARK(BM_DecodeStep64)->ArgName("blocks")->Arg(20'000)->Arg(1'000'000);

// A prompt of 100,000 tokens arrives: its blocks are hashed, all are found and taken. Then it ends.
void BM_HashAndMatch100k(benchmark::State& state) {
  constexpr std::int64_t kTokens = 100'000;
  KvCacheManager cache({KvGroupSpec{}}, kBlockSize, state.range(0), true, nullptr);
  FillWithCached(cache.pool());
  SequenceBlocks first = cache.NewSequence(1);
  BlockChanges changes;
  cache.Allocate(first, kTokens, changes);
  cache.Advance(first, Chain(kTokens, 0), kTokens);
  cache.Free(first);
  std::vector<std::int32_t> tokens(kTokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i);
  const auto hasher = std::make_shared<folio::BlockHasher>();
  for (auto _ : state) {
    TokenChain chain(hasher, BlockHash{}, kBlockSize, false);
    chain.Append(tokens, RowKind::kPrompt);
    SequenceBlocks sequence = cache.NewSequence(2);
    if (cache.TakeHits(sequence, chain) != kTokens - 1) state.SkipWithError("not all was hit");
    cache.Free(sequence);
  }
}
BENCHMARK(BM_HashAndMatch100k)
    ->ArgName("blocks")
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

// The hashing alone.
void BM_Hash100k(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Chain(100'000, 0).hashes().data());
}
BENCHMARK(BM_Hash100k)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
