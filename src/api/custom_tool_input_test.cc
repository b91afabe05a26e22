#include "api/custom_tool_input.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "formats/utf8.h"

namespace folio {
namespace {

// All that is told, with the JSON cut into pieces of `size` bytes.
std::string Told(std::string_view json, std::size_t size) {
  CustomToolInput input;
  std::string text;
  for (std::size_t i = 0; i < json.size(); i += size) text += input.Add(json.substr(i, size));
  return text + input.End();
}

TEST(CustomToolInputTest, TellsTheTextWhileItIsWritten) {
  CustomToolInput input;
  EXPECT_EQ(input.Add(R"({ "inp)"), "");
  EXPECT_EQ(input.Add(R"(ut" : )"), "");
  EXPECT_EQ(input.Add(R"("a b)"), "a b");
  EXPECT_EQ(input.Add("c\\"), "c");  // half an escape is held back
  EXPECT_EQ(input.Add("nd"), "\nd");
  EXPECT_EQ(input.Add(R"(\u00)"), "");
  EXPECT_EQ(input.Add(R"(e9\ud83d)"), "é");
  EXPECT_EQ(input.Add(R"(\ude00")"), "😀");
  EXPECT_EQ(input.Add("}"), "");
  EXPECT_EQ(input.End(), "");
}

TEST(CustomToolInputTest, IsTheSameHoweverItIsCut) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"input":"x\"y\\z\/\t\b\f\r"})", "x\"y\\z/\t\b\f\r"},
      {R"({"input":""})", ""},
      {R"({"input":"\ud83dx"})", "\xef\xbf\xbdx"},
      {R"({"input":"\ud83d\n\ude00"})", "\xef\xbf\xbd\n\xef\xbf\xbd"},
      {R"({"input":"\ud83d\ud83d\ude00"})", "\xef\xbf\xbd😀"},
      {R"({"input":"\ud83d"})", "\xef\xbf\xbd"},
      {R"({"input":"a\qb\u12g4"})", R"(a\qb\u12g4)"},
      {R"({"input":"cut \ud83)", "cut "},
      {R"({"input":"cut \ud83d)", "cut \xef\xbf\xbd"},
      {R"("alone")", "alone"},
      {R"({"why":1,"input":"late"})", "late"},
      {R"({"input":{"a":[1]}})", R"({"a":[1]})"},
      {R"({"patch":"x"})", R"({"patch":"x"})"},
      {"*** Begin Patch", "*** Begin Patch"},
      {"{", "{"},
      {"", ""},
  };
  for (const auto& [json, expected] : cases) {
    for (std::size_t size = 1; size <= json.size() + 1; ++size) {
      EXPECT_EQ(Told(json, size), expected) << json << " by " << size;
    }
  }
}

TEST(CustomToolInputTest, IsWholeCharactersWhereThePiecesAre) {
  EXPECT_TRUE(IsValidUtf8(Told("{\"input\":\"é\\u20acß\"}", 64)));
}

}  // namespace
}  // namespace folio
