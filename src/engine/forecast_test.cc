#include "engine/forecast.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ForecastTest, NothingIsToldBeforeAnythingRan) {
  const Forecast forecast;
  EXPECT_FALSE(forecast.PromptSeconds(100));
  EXPECT_FALSE(forecast.EndSeconds(1, 1));
}

TEST(ForecastTest, PromptsTakeAsLongAsThoseBefore) {
  Forecast forecast;
  forecast.NotePromptRows(512, 2);
  forecast.NotePromptRows(256, 1);
  EXPECT_NEAR(*forecast.PromptSeconds(2560), 10, 1e-9);
}

TEST(ForecastTest, TheLatestStepsCountMost) {
  Forecast forecast;
  for (int i = 0; i < 100; ++i) forecast.NotePromptRows(100, 1);
  for (int i = 0; i < 20; ++i) forecast.NotePromptRows(100, 4);
  EXPECT_GT(*forecast.PromptSeconds(100), 3);
  EXPECT_LT(*forecast.PromptSeconds(100), 4);
}

TEST(ForecastTest, RepliesEndOneAfterAnother) {
  Forecast forecast;
  forecast.NoteReply(8);
  EXPECT_NEAR(*forecast.EndSeconds(1, 4), 2, 1e-9);
  EXPECT_NEAR(*forecast.EndSeconds(3, 4), 6, 1e-9);
  EXPECT_NEAR(*forecast.EndSeconds(1, 0), 8, 1e-9);
}

}  // namespace
}  // namespace folio
