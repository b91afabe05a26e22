#include "server/model_host.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(GrantOfMemoryTest, WhereAllFitEachGetsItsPartOfTheRest) {
  EXPECT_EQ(GrantOfMemory(100, 20, 50, 2), 45U);
  EXPECT_EQ(GrantOfMemory(100, 30, 50, 2), 55U);
}

TEST(GrantOfMemoryTest, ElseAtLeastAnEqualShareAndNeverMoreThanThereIs) {
  EXPECT_EQ(GrantOfMemory(100, 20, 110, 2), 50U);
  EXPECT_EQ(GrantOfMemory(100, 90, 110, 2), 90U);
  EXPECT_EQ(GrantOfMemory(100, 120, 150, 2), 100U);
}

HostedModel Failing(const std::string& id, std::uint64_t least = 0) {
  HostedModel model{.id = id, .aliases = {id + "-too"}, .least_bytes = least, .open = {}};
  model.open = [id](std::uint64_t /*memory*/, std::uint64_t /*first*/) {
    return Result<std::unique_ptr<Engine>>(
        std::unexpected(Error{ErrorKind::kInput, id, "", "is broken"}));
  };
  return model;
}

TEST(ModelHostTest, AModelThatCannotBeLoadedSaysWhyToWhomItConcerns) {
  ModelHost host({}, {Failing("one"), Failing("two")});
  const auto first = host.LoadFirst();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ErrorKind::kInput);
  EXPECT_FALSE(host.ready());
  const auto found = host.Find("two-too");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ApiError::Kind::kUnavailable);
}

TEST(ModelHostTest, WhatCanNeverFitIsToldWithTheNumbers) {
  ModelHost host({.memory = std::uint64_t{10} << 20},
                 {Failing("big", std::uint64_t{30} << 20), Failing("two")});
  const auto loaded = host.LoadFirst();
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().Message().find("30 MiB"), std::string::npos);
}

TEST(ModelHostTest, StrictHostsKnowTheirNamesOnly) {
  ModelHost host({.strict = true}, {Failing("one")});
  const auto found = host.Find("three");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ApiError::Kind::kNotFound);
  EXPECT_EQ(found.error().param, "model");
}

TEST(ModelHostTest, WhoStillWaitsAtTheEndIsTold) {
  auto wanted = std::make_shared<int>(0);
  int told = 0;
  {
    ModelHost host({.max_waiting = 1}, {Failing("one")});
    host.Stop();
    host.WhenLoaded("one", wanted, [&told](const auto& model) {
      EXPECT_EQ(model.error().kind, ApiError::Kind::kUnavailable);
      ++told;
    });
  }
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace folio
