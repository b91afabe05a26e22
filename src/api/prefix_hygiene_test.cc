#include "api/prefix_hygiene.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/anthropic_test_body.h"
#include "api/openai_request.h"

namespace folio {
namespace {

const char kHeader[] = "x-anthropic-billing-header: cc_version=2.1.36.3f1; cc_entrypoint=cli; cch=";
const char kDropped[] = "client's billing header left out";

ApiRequest Messages(const std::string& members) {
  auto request = WithMembers(members);
  EXPECT_TRUE(request.has_value()) << RefusalOf(request);
  return request ? std::move(request->api) : ApiRequest{};
}

// What is left of a system prompt.
std::string Tidied(const std::string& system) {
  ApiRequest request;
  request.messages = Json::array(
      {{{"role", "system"}, {"content", system}}, {{"role", "user"}, {"content", "hi"}}});
  TidyPrefix(request);
  return request.messages.size() == 2 ? request.messages[0]["content"].get<std::string>() : "gone";
}

TEST(PrefixHygieneTest, AChangingHeaderBlockLeavesThePrompt) {
  const auto rendered = [](const std::string& hash) {
    ApiRequest request = Messages(R"("system":[{"type":"text","text":")" + (kHeader + hash) +
                                  R"(;"},{"type":"text","text":"You are a coder.",
        "cache_control":{"type":"ephemeral"}}])");
    EXPECT_EQ(TidyPrefix(request), std::vector<std::string>{kDropped});
    EXPECT_EQ(request.marks, std::vector<CacheMark>{{.message = 0}});
    return DumpJson(request.messages);
  };
  EXPECT_EQ(rendered("00000"), rendered("1a2b3"));
  EXPECT_EQ(rendered("00000"),
            R"([{"role":"system","content":"You are a coder."},{"role":"user","content":"hi"}])");
}

TEST(PrefixHygieneTest, AHeaderAloneTakesItsMessageWithIt) {
  ApiRequest request =
      Messages(R"("system":[{"type":"text","text":")" + (kHeader + std::string("1;\"")) +
               R"(,"cache_control":{"type":"ephemeral"}}],"cache_control":{"type":"ephemeral"})");
  ASSERT_EQ(request.marks, (std::vector<CacheMark>{{.message = 0}, {.message = 1}}));
  TidyPrefix(request);
  EXPECT_EQ(DumpJson(request.messages), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(request.marks, (std::vector<CacheMark>{{.message = -1}, {.message = 0}}));
}

TEST(PrefixHygieneTest, OnlyTheHeaderIsCutOff) {
  const std::string header = kHeader;
  EXPECT_EQ(Tidied(header + "1;\nYou are"), "You are");
  EXPECT_EQ(Tidied(header + "1;\r\nYou are"), "You are");
  EXPECT_EQ(Tidied(header + "1\nYou are"), "You are");
  EXPECT_EQ(Tidied(header + "1;You are a=b;"), "You are a=b;");
  EXPECT_EQ(Tidied(header + "1;"), "gone");
  EXPECT_EQ(Tidied("x-anthropic-billing-header"), "gone");
  EXPECT_EQ(Tidied("x-anthropic-billing-header: of another shape\nYou are"), "You are");
  EXPECT_EQ(Tidied("About " + header + "1;"), "About " + header + "1;");
}

TEST(PrefixHygieneTest, OnlyLeadingSystemMessagesAreLookedInto) {
  ApiRequest request;
  const std::string header = std::string(kHeader) + "1;\n";
  request.messages = Json::array({{{"role", "system"}, {"content", "first"}},
                                  {{"role", "system"}, {"content", header + "second"}},
                                  {{"role", "user"}, {"content", header + "a question"}},
                                  {{"role", "system"}, {"content", header + "third"}}});
  TidyPrefix(request);
  EXPECT_EQ(request.messages[1]["content"], "second");
  EXPECT_EQ(request.messages[2]["content"], header + "a question");
  EXPECT_EQ(request.messages[3]["content"], header + "third");
}

TEST(PrefixHygieneTest, ManySystemMessagesAreNotALongWay) {
  ApiRequest request;
  request.messages = Json::array();
  for (int i = 0; i < 200'000; ++i) {
    request.messages.push_back(
        {{"role", "system"}, {"content", "x-anthropic-billing-header: a=b"}});
  }
  TidyPrefix(request);
  EXPECT_EQ(request.messages.size(), 200'000U - 8);
}

TEST(PrefixHygieneTest, ToolsAndTheirSchemasAreInOneOrder) {
  const auto variables = [](const std::string& tools) {
    ApiRequest request = Messages(R"("tools":[)" + tools + "]");
    const auto done = TidyPrefix(request);
    return std::pair(DumpJson(TemplateVariables(request)), done);
  };
  const std::string ordered =
      R"({"name":"a","input_schema":{"properties":{"x":{"description":"d","type":"string"}},)"
      R"("type":"object"}},{"name":"b","input_schema":{}})";
  const auto [prompt, nothing] = variables(ordered);
  EXPECT_TRUE(nothing.empty());
  const auto [same, done] =
      variables(R"({"input_schema":{},"name":"b"},{"name":"a","input_schema":{"type":"object",)"
                R"("properties":{"x":{"type":"string","description":"d"}}}})");
  EXPECT_EQ(same, prompt);
  EXPECT_EQ(done, (std::vector<std::string>{"tools sorted by name",
                                            "members of tools' schemas put in order"}));
}

TEST(PrefixHygieneTest, EachKindCanBeTurnedOff) {
  const std::string members =
      R"("system":")" + (kHeader + std::string(R"(1;\nYou are")")) +
      R"(,"tools":[{"name":"b","input_schema":{"type":"object","properties":{}}},
                   {"name":"a","input_schema":{}}])";
  ApiRequest untouched = Messages(members);
  const Json before = untouched.messages;
  EXPECT_TRUE(
      TidyPrefix(untouched,
                 {.drop_client_headers = false, .sort_tools = false, .order_schemas = false})
          .empty());
  EXPECT_EQ(untouched.messages, before);
  EXPECT_EQ(untouched.tools[0].name, "b");
  EXPECT_EQ(DumpJson(untouched.tools[0].parameters), R"({"type":"object","properties":{}})");

  ApiRequest sorted = Messages(members);
  TidyPrefix(sorted, {.drop_client_headers = false, .order_schemas = false});
  EXPECT_EQ(sorted.messages, before);
  EXPECT_EQ(DumpJson(sorted.tools[1].parameters), R"({"type":"object","properties":{}})");
}

TEST(PrefixHygieneTest, OtherDialectsAreTidiedToo) {
  auto chat = ParseChatCompletion(BodyOf(
      R"({"messages":[{"role":"system","content":[{"type":"text","text":")" + std::string(kHeader) +
      R"(1;"},{"type":"text","text":"You are"}]},{"role":"user","content":"hi"}]})"));
  ASSERT_TRUE(chat.has_value());
  EXPECT_EQ(TidyPrefix(*chat), std::vector<std::string>{kDropped});
  EXPECT_EQ(chat->messages[0]["content"], "You are");
  auto completion = ParseCompletion(BodyOf(R"({"prompt":"x-anthropic-billing-header: a=b;"})"));
  ASSERT_TRUE(completion.has_value());
  EXPECT_TRUE(TidyPrefix(*completion).empty());
}

}  // namespace
}  // namespace folio
