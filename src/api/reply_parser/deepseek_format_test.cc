#include <gmock/gmock.h>

#include "api/reply_parser/reply_reading_test.h"

namespace folio {
namespace {

using testing::ElementsAre;

std::vector<std::string> ReadDeepSeek(std::string_view reply) {
  const Reading plain{.syntax = {.calls = CallSyntax::kDeepSeek}};
  Reading controls = plain;
  controls.controls = {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
                       "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"};
  controls.options.marks_are_controls = true;
  const auto lines = Read(plain, reply);
  EXPECT_EQ(Read(controls, reply), lines) << reply;
  return lines;
}

TEST(DeepSeekFormatTest, CallsOfV31) {
  EXPECT_THAT(
      ReadDeepSeek(
          "So:<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": "
          "\"東京\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"
          "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
      ElementsAre("text: So:", R"(call: get_weather {"city": "東京"})", "call: f {}"));
}

TEST(DeepSeekFormatTest, CallsOfR1) {
  EXPECT_THAT(
      ReadDeepSeek("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
                   "```json\n{\"days\": 1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
                   "<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
      ElementsAre(R"(call: get_weather {"days": 1})", "call: f {}"));
}

TEST(DeepSeekFormatTest, MarksMayBeMissing) {
  EXPECT_THAT(ReadDeepSeek("<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"), ElementsAre("call: f {}"));
  EXPECT_THAT(ReadDeepSeek("<｜tool▁calls▁begin｜>\n<｜tool▁call▁begin｜>f<｜tool▁sep｜>{} Done"),
              ElementsAre("call: f {}", "text: Done"));
}

TEST(DeepSeekFormatTest, OddCallsAreText) {
  for (const std::string reply : {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁begin｜> f",
                                  "<｜tool▁call▁begin｜><｜tool▁sep｜>{}", "<｜tool▁call▁begin｜>f",
                                  "<｜tool▁call▁begin｜>f<｜tool▁sep｜>g\nh{}", "<｜tool▁ca",
                                  "a ``` b", "<｜tool▁call▁begin｜>f<｜tool▁s｜>{}"}) {
    EXPECT_THAT(ReadDeepSeek(reply), ElementsAre("text: " + reply));
  }
}

TEST(DeepSeekFormatTest, BrokenArgumentsHaveNoEnd) {
  EXPECT_THAT(ReadDeepSeek("<｜tool▁call▁begin｜>f<｜tool▁sep｜>{a}<｜tool▁call▁end｜>b"),
              ElementsAre("open: f {", "text: b"));
}

}  // namespace
}  // namespace folio
