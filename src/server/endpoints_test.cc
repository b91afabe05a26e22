#include "server/endpoints.h"

#include <gtest/gtest.h>

#include <algorithm>

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
  for (const ApiRoute& route : routes) {
    EXPECT_EQ(std::ranges::count_if(routes,
                                    [&](const ApiRoute& other) {
                                      return other.method == route.method &&
                                             other.path == route.path;
                                    }),
              1)
        << route.path;
  }
}

}  // namespace
}  // namespace folio
