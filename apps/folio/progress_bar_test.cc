#include "folio/progress_bar.h"

#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ProgressLineTest, ShowsShareAndNote) {
  const std::string line = ProgressLine("load", 0.5, "1 of 2", 80);
  EXPECT_EQ(line, "load [============            ]  50% 1 of 2");
}

TEST(ProgressLineTest, NeverReachesTheLastColumn) {
  const std::string label(200, 'x');
  for (const std::size_t columns : {20U, 40U, 80U}) {
    EXPECT_LT(ProgressLine(label, 2.0, "note", columns).size(), columns);
  }
}

}  // namespace
}  // namespace folio
