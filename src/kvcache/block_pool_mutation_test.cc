// Would CheckIntegrity notice? A pool in random use gets one fault, of the kind that a wrong line
// in it would make, and the check has to find it at once.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kvcache/block_pool.h"
#include "kvcache/cache_testing.h"

namespace folio {
namespace {

// A pool in use: some blocks held (once or twice) by one table, some cached, some free.
class UsedPool {
 public:
  UsedPool() : pool(12) {
    for (std::uint8_t i = 0; i < 12; ++i) pool.Allocate(0);
    for (BlockId id = 0; id < 12; ++id) {
      if (id % 3 != 0) pool.Publish(id, HashOf(static_cast<std::uint8_t>(id)), 0);
      if (id % 4 == 1 && id % 3 != 0) pool.Mark(id, Retention::k1Hour);
      if (id % 2 == 0) {
        pool.Release(id);
      } else {
        table.push_back(id);
      }
    }
    pool.Touch(1);
    table.push_back(1);
  }
  // Blocks 0, 6 are free; 2, 4, 8, 10 cached; 3, 9 held without a hash; 1, 5, 7, 11 held with one.
  KvBlock& Block(BlockId id) { return const_cast<KvBlock&>(pool.block(id)); }
  std::string Check() const {
    const BlockTable* const tables[] = {&table};
    return pool.CheckIntegrity(tables);
  }

  BlockPool pool;
  BlockTable table;
};

struct Fault {
  const char* name;
  std::function<void(UsedPool&)> make;
};

const std::vector<Fault>& Faults() {
  static const std::vector<Fault> kFaults = {
      {"an increment forgotten", [](UsedPool& p) { --p.Block(1).ref_cnt; }},
      {"an increment too many", [](UsedPool& p) { ++p.Block(3).ref_cnt; }},
      {"a hit that stays in the queue", [](UsedPool& p) { p.Block(2).ref_cnt = 1; }},
      {"released twice",
       [](UsedPool& p) {
         p.pool.Release(3);
         p.pool.Release(3);
       }},
      {"released and kept in the table", [](UsedPool& p) { p.pool.Release(5); }},
      {"touched by nobody", [](UsedPool& p) { p.pool.Touch(8); }},
      {"lost: neither held nor queued", [](UsedPool& p) { p.Block(9).ref_cnt = 0; }},
      {"evicted without leaving the map", [](UsedPool& p) { p.Block(4).hashed = false; }},
      {"published without entering the map",
       [](UsedPool& p) {
         p.Block(3).block_hash = HashOf(77);
         p.Block(3).hashed = true;
       }},
      {"published over another's content",
       [](UsedPool& p) {
         p.Block(3).block_hash = p.Block(5).block_hash;
         p.Block(3).hashed = true;
       }},
      {"filled with something else and kept its name",
       [](UsedPool& p) { p.Block(7).block_hash = HashOf(78); }},
      {"given to another group and kept its name", [](UsedPool& p) { p.Block(7).group = 1; }},
      {"marked in the wrong queue", [](UsedPool& p) { p.Block(10).retention = Retention::k1Hour; }},
      {"marked without a hash", [](UsedPool& p) { p.Block(9).retention = Retention::k1Hour; }},
      {"freed out of order", [](UsedPool& p) { p.Block(10).freed_at_ns = -5; }},
      {"unlinked on one side", [](UsedPool& p) { p.Block(0).prev_free = kNoBlock; }},
      {"a queue cut short", [](UsedPool& p) { p.Block(2).next_free = kNoBlock; }},
      {"a queue that runs in a circle", [](UsedPool& p) { p.Block(10).next_free = 2; }},
      {"two queues joined", [](UsedPool& p) { p.Block(0).next_free = 2; }},
      {"another's number", [](UsedPool& p) { p.Block(9).block_id = 3; }},
      {"a table with a block that isn't there", [](UsedPool& p) { p.table.push_back(12); }},
  };
  return kFaults;
}

TEST(BlockPoolMutationTest, APoolInUseIsWhole) { EXPECT_EQ(UsedPool().Check(), ""); }

TEST(BlockPoolMutationTest, EveryFaultIsFound) {
  for (const Fault& fault : Faults()) {
    UsedPool used;
    fault.make(used);
    EXPECT_NE(used.Check(), "") << fault.name;
  }
}

// What callers would do wrong, at a random moment of a random workload.
TEST(BlockPoolMutationTest, AForgottenOrAddedReferenceIsFoundAtAnyMoment) {
  EXPECT_TRUE(rc::check([] {
    BlockPool pool(8);
    BlockTable table;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
    for (const int step : steps) {
      const std::size_t at = table.empty() ? 0 : static_cast<std::size_t>(step) % table.size();
      if (step % 3 == 0 && pool.num_free() > 0) {
        table.push_back(pool.Allocate(0));
        pool.Publish(table.back(), HashOf(static_cast<std::uint8_t>(step % 251)), 0);
      } else if (step % 3 == 1 && !table.empty()) {
        pool.Touch(table[at]);
        table.push_back(table[at]);
      } else if (!table.empty()) {
        pool.Release(table[at]);
        table.erase(table.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    const BlockTable* const tables[] = {&table};
    RC_ASSERT(pool.CheckIntegrity(tables) == "");
    RC_PRE(!table.empty());
    if (*rc::gen::arbitrary<bool>()) {
      pool.Touch(*rc::gen::elementOf(table));
    } else {
      pool.Release(*rc::gen::elementOf(table));
    }
    RC_ASSERT(pool.CheckIntegrity(tables) != "");
  }));
}

}  // namespace
}  // namespace folio
