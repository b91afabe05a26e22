#include "server/api_keys.h"

#include <gtest/gtest.h>

#include "server/caller.h"

namespace folio {
namespace {

std::string HashOf(std::string_view key) {
  Sha256 hasher;
  hasher.Update(key);
  return hasher.HexDigest();
}

TEST(ApiKeysTest, AFileNamesKeysByTheirHashes) {
  const auto keys = ApiKeys::Parse(
      "# comment\n\nann " + HashOf("one") + "\n  bob  " + HashOf("two") + " max-requests=3\r\n",
      "keys");
  ASSERT_TRUE(keys.has_value()) << keys.error().Message();
  EXPECT_EQ(keys->size(), 2U);
  EXPECT_EQ(keys->Find("one")->name, "ann");
  EXPECT_EQ(keys->Find("two")->max_requests, 3);
  EXPECT_FALSE(keys->Find("three").has_value());
  EXPECT_FALSE(keys->Find("").has_value());
}

TEST(ApiKeysTest, ABrokenLineIsNamed) {
  const auto refusal = [](const std::string& text) {
    const auto keys = ApiKeys::Parse(text, "keys");
    return keys ? "" : keys.error().Message();
  };
  EXPECT_EQ(refusal("ann secret"), "keys: line 1: has no SHA-256 in hexadecimal after the name");
  EXPECT_EQ(refusal("\nann " + HashOf("x") + " max-requests=0"),
            "keys: line 2: '0' is no number of requests");
  EXPECT_EQ(refusal("ann " + HashOf("x") + " colour=red"),
            "keys: line 1: 'colour=red' is no option");
  EXPECT_EQ(refusal("# nothing\n"), "keys: has no key");
}

HttpRequest With(HttpFields fields) { return {.fields = std::move(fields)}; }

TEST(CallersTest, AKeyIsReadFromEitherFieldAndSaltsTheCache) {
  const Callers open({}, /*shared_cache=*/false);
  const auto bearer = open.Identify(With({{"authorization", "bearer one"}}));
  const auto header = open.Identify(With({{"x-api-key", "one"}}));
  const auto other = open.Identify(With({{"authorization", "Bearer two"}}));
  const auto none = open.Identify(With({}));
  ASSERT_TRUE(bearer && header && other && none);
  EXPECT_EQ(bearer->salt, header->salt);
  EXPECT_NE(bearer->salt, other->salt);
  EXPECT_EQ(none->salt, "");
  EXPECT_EQ(Callers({}, /*shared_cache=*/true).Identify(With({{"x-api-key", "one"}}))->salt, "");
}

TEST(CallersTest, WhereThereAreKeysTheOthersAreRefused) {
  Callers callers(*ApiKeys::Parse("ann " + HashOf("one"), "keys"), false);
  EXPECT_EQ(callers.Identify(With({{"authorization", "Bearer one"}}))->name, "ann");
  for (const HttpFields& fields : {HttpFields{}, HttpFields{{"authorization", "Bearer two"}},
                                   HttpFields{{"authorization", "one"}}}) {
    const auto caller = callers.Identify(With(fields));
    ASSERT_FALSE(caller.has_value());
    EXPECT_EQ(caller.error().kind, ApiError::Kind::kUnauthorized);
  }
  callers.Replace(*ApiKeys::Parse("bob " + HashOf("two"), "keys"));
  EXPECT_EQ(callers.Identify(With({{"authorization", "Bearer two"}}))->name, "bob");
  EXPECT_FALSE(callers.Identify(With({{"authorization", "Bearer one"}})).has_value());
}

TEST(CallersTest, PlacesAreLimitedAndComeBack) {
  Callers callers({}, false);
  const Caller caller{.name = "ann", .max_requests = 2};
  auto first = callers.TakePlace(caller);
  auto second = callers.TakePlace(caller);
  ASSERT_TRUE(first && second);
  const auto third = callers.TakePlace(caller);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().kind, ApiError::Kind::kRateLimited);
  EXPECT_TRUE(callers.TakePlace({.name = "bob", .max_requests = 2}).has_value());
  first->reset();
  EXPECT_TRUE(callers.TakePlace(caller).has_value());
}

}  // namespace
}  // namespace folio
