#include "server/endpoints.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/reply_stream.h"

namespace folio {
namespace {

TEST(MatchesPathTest, AnIdIsOneSegment) {
  EXPECT_TRUE(MatchesPath("/v1/models", "/v1/models"));
  EXPECT_FALSE(MatchesPath("/v1/models", "/v1/models/"));
  EXPECT_TRUE(MatchesPath("/v1/models/{id}", "/v1/models/a.b-c"));
  EXPECT_FALSE(MatchesPath("/v1/models/{id}", "/v1/models/"));
  EXPECT_FALSE(MatchesPath("/v1/models/{id}", "/v1/models/a/b"));
  EXPECT_TRUE(MatchesPath("/v1/responses/{id}/input_items", "/v1/responses/r/input_items"));
  EXPECT_FALSE(MatchesPath("/v1/responses/{id}/input_items", "/v1/responses/input_items"));
  EXPECT_FALSE(MatchesPath("/v1/responses/{id}", "/v1/responses/r/input_items"));
}

// A path with an id must not be taken for one without.
TEST(RoutesTest, NoTwoAnswerTheSamePath) {
  const auto routes = Routes();
  for (const Route& route : routes) {
    EXPECT_EQ(std::ranges::count_if(routes,
                                    [&](const Route& other) {
                                      return other.method == route.method &&
                                             other.path == route.path;
                                    }),
              1)
        << route.path;
  }
}

TEST(CreatedUpToMarksTest, WholeBlocksBehindWhatWasCachedCountOnce) {
  const auto created = [](std::vector<CacheMark> marks, std::vector<std::int64_t> tokens,
                          std::int64_t cached) {
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
