#include "api/response_store.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace folio {
namespace {

Json Document(const std::string& id, const std::string& previous, const std::string& text) {
  return {
      {"id", "resp_" + id},
      {"previous_response_id", previous.empty() ? Json() : Json("resp_" + previous)},
      {"output", Json::array({{{"type", "message"}, {"id", "msg_" + id + "_0"}, {"text", text}}})}};
}

Json Said(const std::string& text) { return {{"role", "user"}, {"content", text}}; }

void Put(ResponseStore& store, const std::string& owner, const std::string& id,
         const std::string& previous = "") {
  store.Put(owner, Document(id, previous, "reply " + id), Json::array({Said("to " + id)}));
}

Json GoOn(const std::string& id) { return {{"previous_response_id", "resp_" + id}}; }

// What was said in turn, "to a|reply a|to b"; or the error's message.
std::string Told(ResponseStore& store, const std::string& owner, const std::string& id) {
  const auto found = store.Find(owner, GoOn(id));
  if (!found) return found.error().message;
  std::string all;
  for (const Json& item : found->earlier) {
    if (!all.empty()) all += "|";
    all += item.contains("content") ? item["content"] : item["text"];
  }
  return all;
}

TEST(ResponseStoreTest, GivesBackWhatWasStored) {
  ResponseStore store;
  Put(store, "me", "a");
  EXPECT_EQ(store.Get("me", "resp_a"), Document("a", "", "reply a"));
  EXPECT_EQ(store.usage().responses, 1U);
}

TEST(ResponseStoreTest, AnotherOwnersResponseIsNotFound) {
  ResponseStore store;
  Put(store, "me", "a");
  const auto got = store.Get("you", "resp_a");
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, ApiError::Kind::kNotFound);
  EXPECT_EQ(got.error().message, "Response with id 'resp_a' not found.");
  EXPECT_EQ(store.Get("you", "resp_zz").error().kind, got.error().kind);
  EXPECT_FALSE(store.Delete("you", "resp_a").has_value());
  EXPECT_EQ(Told(store, "you", "a"), "Previous response with id 'resp_a' not found.");
  EXPECT_FALSE(store.InputItems("you", "resp_a", {}).has_value());
  const Json body = {{"input", Json::array({{{"id", "msg_a_0"}}})}};
  EXPECT_FALSE(store.Find("you", body).has_value());
  EXPECT_TRUE(store.Get("me", "resp_a").has_value());
}

TEST(ResponseStoreTest, ADeletedResponseIsGone) {
  ResponseStore store;
  Put(store, "me", "a");
  const auto gone = store.Delete("me", "resp_a");
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(DumpJson(*gone), R"({"id":"resp_a","object":"response","deleted":true})");
  EXPECT_FALSE(store.Get("me", "resp_a").has_value());
  EXPECT_FALSE(store.Delete("me", "resp_a").has_value());
  EXPECT_EQ(store.usage().bytes, 0U);
}

TEST(ResponseStoreTest, AConversationIsAllItsTurnsInOrder) {
  ResponseStore store;
  Put(store, "me", "a");
  Put(store, "me", "b", "a");
  Put(store, "me", "c", "b");
  Put(store, "me", "d", "a");  // another way on
  EXPECT_EQ(Told(store, "me", "c"), "to a|reply a|to b|reply b|to c|reply c");
  EXPECT_EQ(Told(store, "me", "d"), "to a|reply a|to d|reply d");
  EXPECT_TRUE(store.Find("me", {{"input", "hi"}})->earlier.empty());
}

TEST(ResponseStoreTest, AConversationWithAHoleIsNotFound) {
  ResponseStore store;
  Put(store, "me", "a");
  Put(store, "me", "b", "a");
  ASSERT_TRUE(store.Delete("me", "resp_a").has_value());
  const auto found = store.Find("me", GoOn("b"));
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().param, "previous_response_id");
  EXPECT_EQ(found.error().details_code, "previous_response_not_found");
  EXPECT_EQ(HttpStatusOf(found.error()), 400);
}

TEST(ResponseStoreTest, TheOneUsedLongestAgoGoesFirst) {
  ResponseStore store({.bytes = std::size_t{1} << 20, .responses = 3});
  Put(store, "me", "a");
  Put(store, "me", "b");
  Put(store, "me", "c", "a");
  EXPECT_EQ(Told(store, "me", "c"), "to a|reply a|to c|reply c");  // uses a too
  Put(store, "me", "d");
  EXPECT_FALSE(store.Get("me", "resp_b").has_value());
  EXPECT_TRUE(store.Get("me", "resp_a").has_value());
  EXPECT_EQ(store.usage().responses, 3U);
}

TEST(ResponseStoreTest, BytesAreBounded) {
  ResponseStore store({.bytes = 20'000, .responses = 1000});
  for (int i = 0; i < 100; ++i) {
    store.Put("me", Document(std::to_string(i), "", std::string(1000, 'x')), Json::array());
    EXPECT_LE(store.usage().bytes, 20'000U);
  }
  EXPECT_GE(store.usage().responses, 10U);
  EXPECT_TRUE(store.Get("me", "resp_99").has_value());
  store.Put("me", Document("big", "", std::string(30'000, 'x')), Json::array());
  EXPECT_FALSE(store.Get("me", "resp_big").has_value());
  EXPECT_TRUE(store.Get("me", "resp_99").has_value());  // nothing went for its sake
}

TEST(ResponseStoreTest, TheSameIdTwiceIsTheLaterOne) {
  ResponseStore store;
  Put(store, "me", "a");
  Put(store, "me", "b", "a");
  Put(store, "me", "a", "b");  // a circle, which ends
  EXPECT_EQ(store.usage().responses, 2U);
  EXPECT_EQ(Told(store, "me", "b"), "Previous response with id 'resp_b' not found.");
}

TEST(ResponseStoreTest, AnItemIsFoundByItsId) {
  ResponseStore store;
  Put(store, "me", "a");
  const Json body = {
      {"input", Json::array({Said("x"), {{"type", "item_reference"}, {"id", "msg_a_0"}}})}};
  const auto found = store.Find("me", body);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->referred["msg_a_0"]["text"], "reply a");
  for (const char* id : {"msg_a_1", "msg_b_0", "msg", "msg_a", "_", ""}) {
    const Json other = {{"input", Json::array({Said("x"), {{"id", id}}})}};
    const auto missing = store.Find("me", other);
    ASSERT_FALSE(missing.has_value()) << id;
    EXPECT_EQ(missing.error().message, "Item with id '" + std::string(id) + "' not found.");
    EXPECT_EQ(missing.error().param, "input[1].id");
  }
}

TEST(ResponseStoreTest, InputItemsArePagesOfAllTurns) {
  ResponseStore store;
  Put(store, "me", "a");
  Put(store, "me", "b", "a");
  const auto first = store.InputItems("me", "resp_b", {.limit = 2, .ascending = true});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ((*first)["data"].size(), 2U);
  EXPECT_EQ((*first)["data"][0]["content"], "to a");
  EXPECT_EQ((*first)["last_id"], "msg_a_0");
  EXPECT_EQ((*first)["has_more"], true);
  const auto rest =
      store.InputItems("me", "resp_b", {.after = "msg_a_0", .limit = 2, .ascending = true});
  EXPECT_EQ((*rest)["data"].size(), 1U);
  EXPECT_EQ((*rest)["data"][0]["content"], "to b");
  EXPECT_EQ((*rest)["has_more"], false);
  EXPECT_EQ((*store.InputItems("me", "resp_b", {}))["data"][0]["content"], "to b");
}

TEST(ResponseStoreTest, IsSafeFromManyThreads) {
  ResponseStore store({.bytes = 50'000, .responses = 20});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store, t] {
      const std::string owner = std::to_string(t % 2);
      std::string last;
      for (int i = 0; i < 200; ++i) {
        const std::string id = std::to_string(t) + "x" + std::to_string(i);
        Put(store, owner, id, i % 10 == 0 ? "" : last);
        last = id;
        Told(store, owner, id);
        if (i % 7 == 0) std::ignore = store.Delete(owner, "resp_" + id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(store.usage().bytes, 50'000U);
  EXPECT_LE(store.usage().responses, 20U);
}

}  // namespace
}  // namespace folio
