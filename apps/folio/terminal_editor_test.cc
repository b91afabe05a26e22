#include "folio/terminal_editor.h"

#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(LayOutTextTest, AnEmptyLineIsThePrompt) {
  const TextLayout layout = LayOutText("", 0, 20);
  EXPECT_EQ(layout.drawn, "> ");
  EXPECT_EQ(layout.rows, 1U);
  EXPECT_EQ(layout.cursor_column, 2U);
}

TEST(LayOutTextTest, LongTextWrapsAtTheEdgeAndTheCursorWithIt) {
  const TextLayout layout = LayOutText("12345678", 8, 10);  // two columns for the prompt
  EXPECT_EQ(layout.rows, 2U) << "a full row leaves the cursor on the next";
  EXPECT_EQ(layout.cursor_row, 1U);
  EXPECT_EQ(layout.cursor_column, 0U);
  EXPECT_EQ(LayOutText("123456789", 3, 10).cursor_column, 5U);
}

TEST(LayOutTextTest, AWideCharacterDoesNotStraddleTheEdge) {
  const TextLayout layout = LayOutText("1234567日", 10, 10);
  EXPECT_EQ(layout.drawn, "> 1234567\r\n日");
  EXPECT_EQ(layout.cursor_column, 2U);
}

TEST(LayOutTextTest, LinesAreIndentedLikeTheFirst) {
  const TextLayout layout = LayOutText("a\nb", 3, 20);
  EXPECT_EQ(layout.drawn, "> a\r\n  b");
  EXPECT_EQ(layout.cursor_row, 1U);
  EXPECT_EQ(layout.cursor_column, 3U);
}

}  // namespace
}  // namespace folio
