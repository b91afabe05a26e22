#include "folio/cache_report.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace folio {
namespace {

using ::testing::HasSubstr;

TEST(BlockList, RunsAreShortened) {
  EXPECT_EQ(BlockList({}), "");
  EXPECT_EQ(BlockList(std::vector<std::int32_t>{3}), "3");
  EXPECT_EQ(BlockList(std::vector<std::int32_t>{0, 1, 2, 9, 8, 20, 21}), "0-2 9 8 20-21");
  EXPECT_EQ(BlockList(std::vector<std::int32_t>{0, -1, -1, 1}), "0 (2 gone) 1");
}

TEST(BlockList, TheMiddleOfALongListIsLeftOut) {
  std::vector<std::int32_t> blocks;
  for (std::int32_t i = 0; i < 100; ++i) blocks.push_back(2 * i);
  EXPECT_EQ(BlockList(blocks), "0 2 4 6 8 10 12 14 16 18 ... 196 198");
}

MissReport Report(MissCause cause) {
  return {.cause = cause,
          .prompt_tokens = 60,
          .cached_tokens = 32,
          .matched_tokens = 41,
          .nearest_request = 3,
          .position = 41,
          .part_here = "messages[1] user",
          .part_there = "messages[2] user",
          .offset_in_part = 5};
}

TEST(ExplainCache, SaysWhereWhatAndWhichRequest) {
  const std::string text = ExplainCache(Report(MissCause::kDiffers), "prompt");
  EXPECT_THAT(text, HasSubstr("32 of 60 tokens cached"));
  EXPECT_THAT(text, HasSubstr("position 41 (messages[1] user, its token 5)"));
  EXPECT_THAT(text, HasSubstr("prompt 3 has there (messages[2] user)"));
}

TEST(ExplainCache, APromptWithoutPartsIsExplainedByPositionAlone) {
  MissReport report = Report(MissCause::kDiffers);
  report.part_here = report.part_there = "";
  EXPECT_EQ(ExplainCache(report, "request"),
            "32 of 60 tokens cached: the token at position 41 is not the one that request 3 has "
            "there");
}

TEST(ExplainCache, EveryCauseHasItsOwnSentence) {
  std::vector<std::string> sentences;
  for (int cause = 0; cause <= static_cast<int>(MissCause::kOff); ++cause) {
    const std::string text = ExplainCache(Report(static_cast<MissCause>(cause)), "prompt");
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_THAT(sentences, testing::Not(testing::Contains(text)));
    sentences.push_back(text);
  }
}

}  // namespace
}  // namespace folio
