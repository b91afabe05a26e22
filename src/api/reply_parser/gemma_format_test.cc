#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

std::vector<std::string> ReadGemma(std::string_view reply) {
  return Read({.syntax = {.calls = CallSyntax::kGemma}}, reply);
}

TEST(GemmaFormatTest, ABareObjectOrAFencedOneCallsATool) {
  const std::string object = R"({"name": "get_weather", "parameters": {"city": "Bern"}})";
  const std::string call = R"(call: get_weather {"city": "Bern"})";
  EXPECT_THAT(ReadGemma(object), ElementsAre(call));
  EXPECT_THAT(ReadGemma("```json\n" + object + "\n```"), ElementsAre(call));
  EXPECT_THAT(ReadGemma("Sure!\n```tool_code\n[" + object + ", " + object + "]\n```\nb"),
              ElementsAre("text: Sure!", call, call, "text: b"));
  EXPECT_THAT(ReadGemma("```tool_call\n" + object + "\n"), ElementsAre(call));
}

TEST(GemmaFormatTest, OtherObjectsAreText) {
  for (const std::string reply :
       {"```json\n{\"name\": \"Alice\"}\n```", "```json\n[1, 2]\n```", "{\"a\": 1}", "```jsonl\n{}",
        "```python\nprint(1)\n```", "```tool_code\nget_weather(city=\"Bern\")\n```"}) {
    EXPECT_THAT(ReadGemma(reply), ElementsAre("text: " + reply));
  }
}

TEST(GemmaFormatTest, TagsOfHermesAreTaken) {
  EXPECT_THAT(ReadGemma("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n"),
              ElementsAre("call: f {}"));
}

}  // namespace
}  // namespace folio
