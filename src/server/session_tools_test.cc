#include "server/session_tools.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace folio {
namespace {

Json Message(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

// A conversation of `messages` messages that offers `tools`.
ApiRequest Turn(std::size_t messages, const std::vector<std::string>& tools,
                const std::string& system = "You are a coder.") {
  ApiRequest request;
  request.messages = Json::array({Message("system", system)});
  for (std::size_t i = 1; i < messages; ++i) {
    request.messages.push_back(Message(i % 2 == 1 ? "user" : "assistant", std::to_string(i)));
  }
  for (const std::string& name : tools) request.tools.push_back({.name = name});
  return request;
}

std::vector<std::string> Shown(const ApiRequest& request) {
  std::vector<std::string> names;
  const Json variables = TemplateVariables(request);
  for (const Json& tool : variables.value("tools", Json::array())) {
    names.push_back(tool["function"]["name"].get<std::string>());
  }
  return names;
}

class SessionToolsTest : public testing::Test {
 protected:
  std::vector<std::string> Apply(ApiRequest request, const std::string& owner = "one") {
    tools_.Apply(owner, request);
    return Shown(request);
  }
  SessionTools tools_{1000};
};

TEST_F(SessionToolsTest, ARequestThatDropsItsConversationsToolsSeesThem) {
  Apply(Turn(4, {"read", "write"}));
  ApiRequest compaction = Turn(6, {});
  tools_.Apply("one", compaction);
  EXPECT_EQ(Shown(compaction), (std::vector<std::string>{"read", "write"}));
  EXPECT_EQ(compaction.tool_choice.kind, ToolChoice::Kind::kNone);
  EXPECT_EQ(compaction.notes.size(), 1U);
}

TEST_F(SessionToolsTest, SoDoesOneThatForbidsThem) {
  Apply(Turn(4, {"read"}));
  ApiRequest forbids = Turn(6, {"read"});
  forbids.tool_choice.kind = ToolChoice::Kind::kNone;
  EXPECT_EQ(Apply(forbids), std::vector<std::string>{"read"});
}

TEST_F(SessionToolsTest, OthersDoNot) {
  Apply(Turn(4, {"read"}));
  const std::vector<std::string> none;
  EXPECT_EQ(Apply(Turn(6, {}, "Find a title.")), none);
  EXPECT_EQ(Apply(Turn(6, {}), "two"), none);  // another's
  EXPECT_EQ(Apply(Turn(2, {})), none);         // an earlier turn, or a question beside it
  EXPECT_EQ(Apply(Turn(1, {})), none);
  EXPECT_EQ(Apply(Turn(4, {})), std::vector<std::string>{"read"});
}

TEST_F(SessionToolsTest, TheLatestToolsCount) {
  Apply(Turn(4, {"read"}));
  Apply(Turn(6, {"read", "write"}));
  EXPECT_EQ(Apply(Turn(8, {})), (std::vector<std::string>{"read", "write"}));
}

TEST_F(SessionToolsTest, OnlySoManyBytesAreKept) {
  const auto turn = [](int i, const std::vector<std::string>& tools) {
    return Turn(4, tools, std::to_string(i));
  };
  for (int i = 0; i < 30; ++i) {
    Apply(turn(i, {"read"}));
    EXPECT_EQ(Apply(turn(0, {})), std::vector<std::string>{"read"}) << i;  // used: goes last
  }
  EXPECT_EQ(Apply(turn(29, {})), std::vector<std::string>{"read"});
  EXPECT_TRUE(Apply(turn(1, {})).empty());
  Apply(turn(1, {std::string(1000, 'x')}));
  EXPECT_TRUE(Apply(turn(1, {})).empty());
  EXPECT_EQ(Apply(turn(29, {})), std::vector<std::string>{"read"});
}

}  // namespace
}  // namespace folio
