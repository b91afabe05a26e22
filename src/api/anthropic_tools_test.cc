#include "api/anthropic_tools.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/anthropic_test_body.h"

namespace folio {
namespace {

const char kTools[] = R"("tools":[{"name":"f","description":"d","strict":true,
    "input_schema":{"type":"object","properties":{"z":{},"a":{}}},"eager_input_streaming":true},
    {"type":"web_search_20250305","name":"web_search","max_uses":5},
    {"type":"bash_20250124","name":"bash"},
    {"type":"custom","name":"g","input_schema":{}}])";

TEST(AnthropicToolsTest, AClientsOwnAreShownInTheirOrder) {
  const auto request = WithMembers(kTools);
  ASSERT_TRUE(request.has_value()) << RefusalOf(request);
  ASSERT_EQ(request->api.tools.size(), 2U);
  EXPECT_TRUE(request->api.tools[0].strict);
  EXPECT_FALSE(request->api.tools[1].strict);
  EXPECT_EQ(DumpJson(TemplateVariables(request->api)),
            R"({"tools":[{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object","properties":{"z":{},"a":{}}}}},)"
            R"({"type":"function","function":{"name":"g","parameters":{}}}]})");
  EXPECT_EQ(request->api.notes,
            (std::vector<std::string>{"tools[1]: 'web_search_20250305' left out: isn't known here",
                                      "tools[2]: 'bash_20250124' left out: isn't known here"}));
}

TEST(AnthropicToolsTest, ChoicesAreRead) {
  const auto choice = [](const std::string& value) {
    const auto request = WithMembers(std::string(kTools) + R"(,"tool_choice":)" + value);
    EXPECT_TRUE(request.has_value()) << RefusalOf(request);
    return request ? request->api : ApiRequest{};
  };
  using Kind = ToolChoice::Kind;
  EXPECT_EQ(choice(R"({"type":"auto"})").tool_choice.kind, Kind::kAuto);
  EXPECT_EQ(choice(R"({"type":"any"})").tool_choice.kind, Kind::kRequired);
  EXPECT_EQ(choice(R"({"type":"none"})").tool_choice.kind, Kind::kNone);
  const ApiRequest named = choice(R"({"type":"tool","name":"g","disable_parallel_tool_use":true})");
  EXPECT_EQ(named.tool_choice.kind, Kind::kNamed);
  EXPECT_EQ(named.tool_choice.name, "g");
  EXPECT_FALSE(named.parallel_tool_calls);
  EXPECT_TRUE(choice(R"({"type":"auto","disable_parallel_tool_use":false})").parallel_tool_calls);
  EXPECT_FALSE(choice(R"({"type":"any","disable_parallel_tool_use":true})").parallel_tool_calls);
}

TEST(AnthropicToolsTest, WhatIsWrongIsNamedByItsPath) {
  const std::string tools = std::string(kTools) + ",";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tools":{})", "tools: is an object, not a list"},
      {R"("tools":["f"])", "tools[0]: is a string, not an object"},
      {R"("tools":[{"input_schema":{}}])", "tools[0].name: is missing"},
      {R"("tools":[{"name":"","input_schema":{}}])", "tools[0].name: is empty"},
      {R"("tools":[{"name":"f"}])", "tools[0].input_schema: is missing"},
      {R"("tools":[{"name":"f","input_schema":"x"}])",
       "tools[0].input_schema: is a string, not an object"},
      {R"("tools":[{"name":"f","input_schema":{},"description":1}])",
       "tools[0].description: is a number, not a string"},
      {R"("tools":[{"name":"f","input_schema":{},"strict":1}])",
       "tools[0].strict: is a number, not true or false"},
      {R"("tools":[{"name":"f","input_schema":{}},{"name":"f","input_schema":{}}])",
       "tools[1].name: is 'f' again"},
      {R"("tools":[{"name":"f","input_schema":{},"cache_control":1}])",
       "tools[0].cache_control: is a number, not an object"},
      {tools + R"("tool_choice":"auto")", "tool_choice: is a string, not an object"},
      {tools + R"("tool_choice":{})", "tool_choice.type: is missing"},
      {tools + R"("tool_choice":{"type":"maybe"})",
       "tool_choice.type: is 'maybe', none of auto, any, tool, none"},
      {tools + R"("tool_choice":{"type":"tool"})", "tool_choice.name: is '', none of the tools"},
      {tools + R"("tool_choice":{"type":"tool","name":"web_search"})",
       "tool_choice.name: is 'web_search', none of the tools"},
      {tools + R"("tool_choice":{"type":"auto","disable_parallel_tool_use":1})",
       "tool_choice.disable_parallel_tool_use: is a number, not true or false"},
      {R"("tool_choice":{"type":"any"})", "tool_choice.type: is any, of no tools"},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_EQ(RefusalOf(WithMembers(members)), expected) << members;
  }
}

}  // namespace
}  // namespace folio
