// The worked example of the PagedAttention text, block size 4: three requests, step by step.
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kvcache/cache_testing.h"
#include "kvcache/kv_cache_manager.h"

namespace folio {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PagedAttentionTrace : public ::testing::Test {
 protected:
  // Prefills a prompt whole, as the engine does. Returns the tokens that hits brought.
  std::int64_t Run(SequenceBlocks& sequence, const TokenChain& chain) {
    const std::int64_t hits = cache_.TakeHits(sequence, chain);
    BlockChanges changes;
    EXPECT_TRUE(cache_.Allocate(sequence, chain.size() - sequence.computed, changes));
    EXPECT_THAT(changes.copies, IsEmpty());
    fresh_ = changes.fresh;
    cache_.Advance(sequence, chain, chain.size());
    return hits;
  }
  int RefCnt(BlockId id) const { return cache_.pool().block(id).ref_cnt; }
  bool Maps(const TokenChain& chain, std::size_t index, BlockId block) const {
    return cache_.pool().Lookup(chain.hashes()[index], 0) == block;
  }

  KvCacheManager cache_{{KvGroupSpec{}}, 4, 4, true, nullptr};
  std::vector<BlockId> fresh_;
  TokenChain chain0_ = ChainOf("ABCDEFGHIJKL", 4);
  TokenChain chain1_ = ChainOf("ABCDEFGHXYZ", 4);
  TokenChain chain2_ = ChainOf("ABCDEFGHPPPPQQQQ", 4);
  SequenceBlocks request0_ = cache_.NewSequence(0);
  SequenceBlocks request1_ = cache_.NewSequence(1);
  SequenceBlocks request2_ = cache_.NewSequence(2);
};

TEST_F(PagedAttentionTrace, TheThreeRequestsOfTheText) {
  // Time 0: three misses, blocks 0, 1, 2, all computed.
  EXPECT_EQ(Run(request0_, chain0_), 0);
  EXPECT_THAT(fresh_, ElementsAre(0, 1, 2));
  EXPECT_THAT(request0_.tables[0], ElementsAre(0, 1, 2));
  for (const BlockId id : {0, 1, 2}) EXPECT_EQ(RefCnt(id), 1);

  // Time 1: two hits; the third block has three tokens, is new and has no hash.
  EXPECT_EQ(Run(request1_, chain1_), 8);
  EXPECT_THAT(fresh_, ElementsAre(3));
  EXPECT_THAT(request1_.tables[0], ElementsAre(0, 1, 3));
  EXPECT_EQ(RefCnt(0), 2);
  EXPECT_EQ(RefCnt(1), 2);
  EXPECT_EQ(RefCnt(3), 1);
  EXPECT_FALSE(cache_.pool().block(3).hashed);

  // Time 2: request 0 finishes. Block 2 is free and keeps its entry in the map.
  cache_.Free(request0_);
  EXPECT_EQ(RefCnt(0), 1);
  EXPECT_EQ(RefCnt(1), 1);
  EXPECT_EQ(RefCnt(2), 0);
  EXPECT_TRUE(Maps(chain0_, 2, 2));

  // Time 3: request 1 finishes. All are free; the map still has its three entries. The text's
  // drawing shows the queue as 3, 2, 0, 1 and says that it simplifies; here it is the block without
  // a hash, then the oldest freed, and of one request the last block first.
  cache_.Free(request1_);
  EXPECT_EQ(cache_.pool().num_free(), 4);
  EXPECT_EQ(cache_.pool().stats().cached, 3);
  EXPECT_TRUE(Maps(chain0_, 0, 0) && Maps(chain0_, 1, 1) && Maps(chain0_, 2, 2));
  EXPECT_THAT(cache_.pool().FreeOrder(), ElementsAre(3, 2, 1, 0));

  // Time 4: hits 0 and 1 leave the middle of the queue, then 3 and 2 are handed out. Only now does
  // block 2 lose its old entry.
  EXPECT_EQ(cache_.TakeHits(request2_, chain2_), 8);
  EXPECT_THAT(cache_.pool().FreeOrder(), ElementsAre(3, 2));
  EXPECT_TRUE(Maps(chain0_, 2, 2));
  EXPECT_EQ(Run(request2_, chain2_), 0);
  EXPECT_THAT(request2_.tables[0], ElementsAre(0, 1, 3, 2));
  EXPECT_TRUE(Maps(chain0_, 2, kNoBlock));
  EXPECT_TRUE(Maps(chain2_, 2, 3));
  EXPECT_TRUE(Maps(chain2_, 3, 2));
  const std::vector<const SequenceBlocks*> all = {&request0_, &request1_, &request2_};
  EXPECT_EQ(cache_.CheckIntegrity(all), "");
}

}  // namespace
}  // namespace folio
