// The manager against what its blocks hold. Every row that is "computed" writes the name of the
// prefix it stands for into a shadow of the block; every row that a position would see is read
// back. Sharing, copying, windows, preemption, dropped caches: none may ever show another prefix.
#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kvcache/cache_testing.h"
#include "kvcache/kv_cache_manager.h"

namespace folio {
namespace {

constexpr int kNothing = -1;

// Numbers prefixes: the one that `token` makes of the prefix `parent`, always the same.
class PrefixNames {
 public:
  int Extend(int parent, std::int32_t token) {
    return names_.try_emplace({parent, token}, static_cast<int>(names_.size()) + kRoots)
        .first->second;
  }
  static constexpr int kRoots = 2;  // prefixes 0 and 1: nothing yet, of two salts

 private:
  std::map<std::pair<int, std::int32_t>, int> names_;
};

struct Request {
  TokenChain chain;
  std::vector<int> names;  // of the prefix that ends with each position
  int root;
  SequenceBlocks blocks;
};

struct Setting {
  std::vector<KvGroupSpec> groups;
  int block_size;
  std::int64_t num_blocks;
  bool caching;
};

class World {
 public:
  explicit World(const Setting& setting)
      : setting_(setting),
        cache_(setting.groups, setting.block_size, setting.num_blocks, setting.caching, nullptr),
        shadow_(static_cast<std::size_t>(setting.num_blocks),
                std::vector<int>(static_cast<std::size_t>(setting.block_size), kNothing)) {}

  bool HasRequests() const { return !requests_.empty(); }
  Request& Pick(int n) {
    return *std::next(requests_.begin(), n % static_cast<int>(requests_.size()));
  }

  // A prompt that shares its first `shared` tokens with an earlier one.
  void Start(int like, std::int64_t shared, const std::vector<std::int32_t>& tail, int root) {
    std::vector<std::int32_t> tokens;
    if (!prompts_.empty()) {
      const auto& earlier = prompts_[static_cast<std::size_t>(like) % prompts_.size()];
      tokens.assign(earlier.begin(),
                    earlier.begin() + std::min(shared, static_cast<std::int64_t>(earlier.size())));
    }
    tokens.insert(tokens.end(), tail.begin(), tail.end());
    prompts_.push_back(tokens);
    requests_.push_back({.chain = TokenChain(hasher_, HashOf(static_cast<std::uint8_t>(root)),
                                             setting_.block_size, false),
                         .names = {},
                         .root = root,
                         .blocks = cache_.NewSequence(++last_request_)});
    Append(requests_.back(), tokens);
  }

  void Append(Request& request, const std::vector<std::int32_t>& tokens) {
    for (const std::int32_t token : tokens) {
      const int parent = request.names.empty() ? request.root : request.names.back();
      request.names.push_back(names_.Extend(parent, token));
      const std::size_t hashed = request.chain.hashes().size();
      request.chain.Append(std::span(&token, 1), RowKind::kPrompt);
      if (request.chain.hashes().size() > hashed) {
        named_[request.chain.hashes().back()] = request.names.back();
      }
    }
  }

  void TakeHits(Request& request) {
    const std::int64_t before = request.blocks.computed;
    const std::int64_t expected = std::max<std::int64_t>(LongestMatch(request) - before, 0);
    if (before == 0) RC_ASSERT(cache_.MatchedTokens(request.chain) == expected);
    const std::int64_t used = cache_.pool().stats().used;
    RC_ASSERT(cache_.TakeHits(request.blocks, request.chain) == expected);
    RC_ASSERT(request.blocks.computed == before + expected);
    if (expected == 0) RC_ASSERT(cache_.pool().stats().used == used);
  }

  // Computes up to `rows` rows, of which the last `rejected` are not accepted.
  void Compute(Request& request, std::int64_t rows, std::int64_t rejected) {
    SequenceBlocks& blocks = request.blocks;
    rows = std::min(rows, request.chain.size() - blocks.computed);
    if (rows == 0) return;
    const std::int64_t needed = cache_.BlocksNeeded(blocks, rows);
    const std::int64_t free = cache_.pool().num_free();
    const std::vector<BlockTable> tables = blocks.tables;
    BlockChanges changes;
    const bool fits = cache_.Allocate(blocks, rows, changes);
    RC_ASSERT(fits == (needed <= free));
    RC_ASSERT(static_cast<std::int64_t>(changes.fresh.size()) == (fits ? needed : 0));
    RC_ASSERT(cache_.pool().num_free() == free - (fits ? needed : 0));
    if (!fits) {
      RC_ASSERT(blocks.tables == tables);
      return;
    }
    for (const BlockId id : changes.fresh) std::ranges::fill(Shadow(id), kNothing);
    for (const BlockCopy& copy : changes.copies) Shadow(copy.to) = Shadow(copy.from);
    const std::int64_t end = blocks.computed + rows;
    const std::int64_t accepted = end - std::min(rejected, rows - 1);
    Write(request, accepted, end);
    CheckWhatIsSeen(request, end, accepted);
    cache_.Advance(blocks, request.chain, accepted);
  }

  void Fork(Request& request) {
    SequenceBlocks blocks = cache_.Fork(request.blocks, ++last_request_);
    requests_.push_back(request);
    requests_.back().blocks = std::move(blocks);
  }

  void Free(int n, bool finished) {
    const auto at = std::next(requests_.begin(), n % static_cast<int>(requests_.size()));
    cache_.Free(at->blocks);
    if (finished) requests_.erase(at);
  }

  void Check() {
    std::vector<const SequenceBlocks*> all;
    for (const Request& request : requests_) {
      all.push_back(&request.blocks);
      std::int64_t held = 0;
      for (const BlockTable& table : request.blocks.tables) {
        held += std::ranges::count_if(table, [](BlockId id) { return id != kNoBlock; });
      }
      RC_ASSERT(held <= cache_.BlocksForSequence(request.chain.size(), kMostRows));
    }
    RC_ASSERT(cache_.CheckIntegrity(all) == "");
    const BlockPoolStats stats = cache_.pool().stats();
    RC_ASSERT(stats.used + stats.cached + stats.free == setting_.num_blocks);
    RC_ASSERT(stats.used + cache_.pool().num_free() == setting_.num_blocks);
    if (!setting_.caching) RC_ASSERT(stats.cached == 0);
    CheckHashedBlocks();
  }

  KvCacheManager& cache() { return cache_; }
  static constexpr std::int64_t kMostRows = 12;

 private:
  std::vector<int>& Shadow(BlockId id) { return shadow_[static_cast<std::size_t>(id)]; }
  int& Row(const SequenceBlocks& blocks, std::size_t group, std::int64_t position) {
    const BlockId id =
        blocks.tables[group][static_cast<std::size_t>(position / setting_.block_size)];
    RC_ASSERT(id != kNoBlock);
    return Shadow(id)[static_cast<std::size_t>(position % setting_.block_size)];
  }

  // The rows of a chunk that are stored, as the forward pass writes them; wrong tokens from
  // `accepted` on. Only a block that nobody else holds is written.
  void Write(const Request& request, std::int64_t accepted, std::int64_t end) {
    for (std::size_t g = 0; g < setting_.groups.size(); ++g) {
      for (std::int64_t p = request.blocks.stored; p < end; ++p) {
        const BlockTable& table = request.blocks.tables[g];
        const KvBlock& block =
            cache_.pool().block(table[static_cast<std::size_t>(p / setting_.block_size)]);
        RC_ASSERT(block.ref_cnt == 1);
        RC_ASSERT(!block.hashed);
        Row(request.blocks, g, p) =
            p < accepted ? request.names[static_cast<std::size_t>(p)] : kNothing;
      }
    }
  }

  void CheckWhatIsSeen(const Request& request, std::int64_t end, std::int64_t accepted) {
    for (std::size_t g = 0; g < setting_.groups.size(); ++g) {
      const std::int64_t window = setting_.groups[g].window;
      for (std::int64_t p = request.blocks.computed; p < std::min(end, accepted); ++p) {
        const std::int64_t first = window == 0 ? 0 : std::max<std::int64_t>(p - window + 1, 0);
        for (std::int64_t q = first; q <= p; ++q) {
          RC_ASSERT(Row(request.blocks, g, q) == request.names[static_cast<std::size_t>(q)]);
        }
      }
    }
  }

  // No hash maps to a block with other content.
  void CheckHashedBlocks() {
    for (BlockId id = 0; id < setting_.num_blocks; ++id) {
      const KvBlock& block = cache_.pool().block(id);
      if (block.hashed) RC_ASSERT(Shadow(id).back() == named_.at(block.block_hash));
    }
  }

  // By trying every length, the longest first.
  std::int64_t LongestMatch(const Request& request) const {
    if (!setting_.caching) return 0;
    for (auto m = static_cast<std::int64_t>(request.chain.hashes().size()); m > 0; --m) {
      const std::int64_t tokens = std::min(m * setting_.block_size, request.chain.size() - 1);
      bool all = true;
      for (std::size_t g = 0; g < setting_.groups.size(); ++g) {
        const std::int64_t window = setting_.groups[g].window;
        for (std::int64_t i = 0; i < m; ++i) {
          const bool seen = window == 0 || (i + 1) * setting_.block_size > tokens - window + 1;
          all = all &&
                (!seen || cache_.pool().Lookup(request.chain.hashes()[static_cast<std::size_t>(i)],
                                               static_cast<int>(g)) != kNoBlock);
        }
      }
      if (all) return tokens;
    }
    return 0;
  }

  Setting setting_;
  KvCacheManager cache_;
  std::shared_ptr<BlockHasher> hasher_ = std::make_shared<BlockHasher>();
  PrefixNames names_;
  std::map<BlockHash, int> named_;  // the prefix that a hash stands for
  std::vector<std::vector<int>> shadow_;
  std::vector<std::vector<std::int32_t>> prompts_;
  std::list<Request> requests_;
  std::uint64_t last_request_ = 0;
};

std::vector<std::int32_t> AnyTokens(int most) {
  const int count = *rc::gen::inRange(0, most + 1);
  return *rc::gen::container<std::vector<std::int32_t>>(static_cast<std::size_t>(count),
                                                        rc::gen::inRange(0, 2));
}

// One random operation; `a` and `b` are its free choices.
void Step(World& world, int operation, int a, int b) {
  if (operation <= 1) {
    const auto tail = AnyTokens(10);
    world.Start(a, b % 40, tail, b % 7 == 0 ? 1 : 0);
    return;
  }
  if (operation == 2) {
    constexpr std::int64_t kSeconds[] = {1, 60, 299, 300, 3600, 90000};
    world.cache().pool().SetTime(static_cast<std::int64_t>(a) * kSeconds[b % 6] * 1'000'000'000);
    if (b % 11 == 0) world.cache().pool().DropCached();
    return;
  }
  if (!world.HasRequests()) return;
  Request& request = world.Pick(a);
  switch (operation) {
    case 3:
      world.TakeHits(request);
      break;
    case 4:
      world.Fork(request);
      break;
    case 5:
      world.Free(a, b % 2 == 0);
      break;
    case 6:
      request.blocks.retention = static_cast<Retention>(b % kRetentions);
      request.blocks.retained_tokens = b % 30;
      break;
    case 7:
      if (request.blocks.computed == request.chain.size()) world.Append(request, AnyTokens(3));
      break;
    case 8:
      world.Compute(request, 1 + b % World::kMostRows, b % 3);
      break;
    default:
      world.Compute(request, 1 + b % World::kMostRows, 0);
  }
}

Setting AnySetting() {
  const auto windows = *rc::gen::elementOf(std::vector<std::vector<std::int64_t>>{
      {0}, {0, 5}, {0, 1}, {0, 12, 3}, {6}, {4, 9}, {0, 0, 8}});
  Setting setting{.groups = {},
                  .block_size = *rc::gen::inRange(1, 6),
                  .num_blocks = *rc::gen::inRange(4, 60),
                  .caching = *rc::gen::weightedElement<bool>({{9, true}, {1, false}})};
  for (const std::int64_t window : windows) setting.groups.push_back({.window = window});
  return setting;
}

TEST(KvCacheModelTest, NoRequestEverSeesAnothersContent) {
  EXPECT_TRUE(rc::check([] {
    World world(AnySetting());
    const auto steps = *rc::gen::scale(
        4.0, rc::gen::container<std::vector<std::tuple<int, int, int>>>(rc::gen::tuple(
                 rc::gen::inRange(0, 14), rc::gen::inRange(0, 1000), rc::gen::inRange(0, 1000))));
    for (const auto& [operation, a, b] : steps) {
      Step(world, operation, a, b);
      world.Check();
    }
  }));
}

}  // namespace
}  // namespace folio
