// The pool against a model that is slow and plain: after every operation of a random workload both
// agree on every block, on every look-up, and on the order in which free blocks would be handed
// out.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kvcache/block_pool.h"
#include "kvcache/cache_testing.h"

namespace folio {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kContents = 10;
constexpr int kGroups = 2;

using Content = std::pair<int, int>;  // what the block was filled with, and its group

struct ModelBlock {
  int references = 0;
  std::optional<Content> content;
  Retention retention = Retention::kNone;
  std::int64_t freed = 0;
};

class ModelPool {
 public:
  explicit ModelPool(int num_blocks) : blocks(static_cast<std::size_t>(num_blocks)) {
    for (int i = num_blocks - 1; i >= 0; --i) unhashed.push_back(i);
  }

  std::vector<BlockId> FreeOrder() const {
    std::vector<BlockId> order(unhashed.rbegin(), unhashed.rend());
    // Live or not, when, and what decides between marks that expire together: the lesser first.
    std::vector<std::tuple<bool, std::int64_t, Retention, BlockId>> cached;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const ModelBlock& block = blocks[i];
      if (block.references > 0 || !block.content) continue;
      const std::int64_t expiry = block.freed + RetentionNs(block.retention);
      const bool live = block.retention != Retention::kNone && now < expiry;
      cached.emplace_back(live, live ? expiry : block.freed, block.retention,
                          static_cast<BlockId>(i));
    }
    std::ranges::sort(cached);
    for (const auto& [live, when, retention, id] : cached) order.push_back(id);
    return order;
  }

  BlockId Find(const Content& content) const {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].content == content) return static_cast<BlockId>(i);
    }
    return kNoBlock;
  }

  BlockId Allocate() {
    const std::vector<BlockId> order = FreeOrder();
    if (order.empty()) return kNoBlock;
    ModelBlock& block = Block(order[0]);
    std::erase(unhashed, order[0]);
    block = {.references = 1};
    return order[0];
  }

  void Touch(BlockId id) {
    ModelBlock& block = Block(id);
    if (block.references++ > 0) return;
    std::erase(unhashed, id);
    ForgetExpiredMark(block);
  }

  void Mark(BlockId id, Retention retention) {
    ModelBlock& block = Block(id);
    if (block.references == 0) {
      ForgetExpiredMark(block);
      block.freed = last_freed = std::max(now, last_freed + 1);
    }
    block.retention = std::max(block.retention, retention);
  }

  void Release(BlockId id) {
    ModelBlock& block = Block(id);
    if (--block.references > 0) return;
    block.freed = last_freed = std::max(now, last_freed + 1);
    if (!block.content) unhashed.push_back(id);
  }

  std::int64_t DropCached() {
    // Order among them is the pool's affair: what the classes hold, oldest first, class by class.
    std::vector<std::tuple<Retention, std::int64_t, BlockId>> cached;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ModelBlock& block = blocks[i];
      if (block.references > 0 || !block.content) continue;
      cached.emplace_back(block.retention, block.freed, static_cast<BlockId>(i));
      block.content.reset();
      block.retention = Retention::kNone;
    }
    std::ranges::sort(cached);
    for (const auto& [retention, freed, id] : cached) unhashed.push_back(id);
    return static_cast<std::int64_t>(cached.size());
  }

  ModelBlock& Block(BlockId id) { return blocks[static_cast<std::size_t>(id)]; }

  std::vector<ModelBlock> blocks;
  std::vector<BlockId> unhashed;  // free, the next one last
  std::int64_t now = 0;
  std::int64_t last_freed = -1;

 private:
  void ForgetExpiredMark(ModelBlock& block) const {
    if (now >= block.freed + RetentionNs(block.retention)) block.retention = Retention::kNone;
  }
};

BlockHash Hash(const Content& content) { return HashOf(static_cast<std::uint8_t>(content.first)); }

void CheckAgainst(const BlockPool& pool, ModelPool& model) {
  RC_ASSERT(pool.CheckIntegrity() == "");
  RC_ASSERT(pool.FreeOrder() == model.FreeOrder());
  BlockPoolStats expected{.total = pool.num_blocks()};
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const ModelBlock& block = model.blocks[i];
    const KvBlock& real = pool.block(static_cast<BlockId>(i));
    RC_ASSERT(real.ref_cnt == block.references);
    RC_ASSERT(real.hashed == block.content.has_value());
    RC_ASSERT(real.retention == block.retention);
    ++(block.references > 0 ? expected.used : block.content ? expected.cached : expected.free);
  }
  const BlockPoolStats stats = pool.stats();
  RC_ASSERT(stats.used == expected.used);
  RC_ASSERT(stats.cached == expected.cached);
  RC_ASSERT(stats.free == expected.free);
  RC_ASSERT(stats.used + pool.num_free() == stats.total);
  for (int name = 0; name < kContents; ++name) {
    for (int group = 0; group < kGroups; ++group) {
      const Content content{name, group};
      RC_ASSERT(pool.Lookup(Hash(content), group) == model.Find(content));
    }
  }
}

// One random operation on both. Operations whose precondition doesn't hold are left out.
void Step(BlockPool& pool, ModelPool& model, int operation, int argument) {
  const BlockId id = argument % static_cast<int>(model.blocks.size());
  ModelBlock& block = model.Block(id);
  const int group = argument % kGroups;
  switch (operation) {
    case 0:
    case 1:
      RC_ASSERT(pool.Allocate(group) == model.Allocate());
      break;
    case 2:
      if (block.references == 0 && !block.content) break;
      pool.Touch(id);
      model.Touch(id);
      break;
    case 3:
    case 4: {
      if (block.references == 0 || block.content) break;
      const Content content{argument / 3 % kContents, group};
      const BlockId other = model.Find(content);
      RC_ASSERT(pool.Publish(id, Hash(content), group) == (other == kNoBlock ? id : other));
      if (other == kNoBlock) block.content = content;
      break;
    }
    case 5: {
      if (!block.content) break;
      const auto retention = static_cast<Retention>(argument / 7 % kRetentions);
      pool.Mark(id, retention);
      model.Mark(id, retention);
      break;
    }
    case 6:
    case 7:
    case 8:
      if (block.references == 0) break;
      pool.Release(id);
      model.Release(id);
      break;
    case 9: {
      constexpr std::int64_t kSeconds[] = {0, 1, 60, 240, 300, 3300, 3600, 86400};
      model.now += kSeconds[argument % 8] * kSecond;
      pool.SetTime(model.now);
      break;
    }
    default:
      if (argument % 8 == 0) RC_ASSERT(pool.DropCached() == model.DropCached());
  }
}

TEST(BlockPoolModelTest, AgreesWithAPlainModelAfterEveryOperation) {
  EXPECT_TRUE(rc::check([] {
    const int num_blocks = *rc::gen::inRange(1, 14);
    BlockPool pool(num_blocks);
    ModelPool model(num_blocks);
    const auto steps =
        *rc::gen::scale(4.0, rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(
                                 rc::gen::inRange(0, 11), rc::gen::inRange(0, 10000))));
    for (const auto& [operation, argument] : steps) {
      Step(pool, model, operation, argument);
      CheckAgainst(pool, model);
    }
  }));
}

}  // namespace
}  // namespace folio
