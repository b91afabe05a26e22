#include "server/created_tokens.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(CreatedUpToMarksTest, WholeBlocksBehindWhatWasCachedCountOnce) {
  const auto created = [](const std::vector<CacheMark>& marks,
                          const std::vector<std::int64_t>& tokens, std::int64_t cached) {
    const CreatedTokens of = CreatedUpToMarks(marks, tokens, cached, 16);
    return std::pair(of.five_minutes, of.one_hour);
  };
  const CacheMark five{.retention = CacheRetention::k5Minutes};
  const CacheMark hour{.retention = CacheRetention::k1Hour};
  EXPECT_EQ(created({}, {}, 0), std::pair(0L, 0L));
  EXPECT_EQ(created({five}, {100}, 0), std::pair(96L, 0L));
  EXPECT_EQ(created({five}, {100}, 32), std::pair(64L, 0L));
  EXPECT_EQ(created({five}, {100}, 96), std::pair(0L, 0L));
  EXPECT_EQ(created({five}, {15}, 0), std::pair(0L, 0L));
  EXPECT_EQ(created({hour, five}, {64, 100}, 32), std::pair(32L, 32L));
  EXPECT_EQ(created({five, five}, {40, 100}, 0), std::pair(96L, 0L));
}

}  // namespace
}  // namespace folio
