#include "folio/lab_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace folio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(BarLines, TheLargestIsFullAndNoneIsLostBelowOneCharacter) {
  EXPECT_THAT(
      BarLines({{.label = "8", .value = 1, .value_text = "1"},
                {.label = "16", .value = 500, .value_text = "500"},
                {.label = "896", .value = 1000, .value_text = "1000"},
                {.label = "x", .value = 0, .value_text = "0"}},
               4),
      ElementsAre("  8  |#        1", " 16  |##     500", "896  |####  1000", "  x  |         0"));
}

TEST(AxisTop, IsARoundNumberNotBelow) {
  EXPECT_DOUBLE_EQ(AxisTop(0), 1);
  EXPECT_DOUBLE_EQ(AxisTop(3.57), 5);
  EXPECT_DOUBLE_EQ(AxisTop(5), 5);
  EXPECT_DOUBLE_EQ(AxisTop(5.01), 10);
  EXPECT_DOUBLE_EQ(AxisTop(0.013), 0.02);
  EXPECT_DOUBLE_EQ(AxisTop(740), 1000);
}

TEST(XmlEscaped, MarkupIsSpelledOut) {
  EXPECT_EQ(XmlEscaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
}

Chart Example() {
  return {
      .title = "a & b",
      .x_label = "size, MB",
      .x = {1, 10},
      .points = {"one", "ten"},
      .panels = {{.y_label = "time, us",
                  .series = {{.name = "first", .y = {5, 10}}, {.name = "second", .y = {0, 2}}}}},
      .shaded_to = 2,
      .shaded_label = "in cache"};
}

TEST(ChartSvg, HighestAndLowestStandAtTheAxisEnds) {
  const std::string svg = ChartSvg(Example());
  // The panel is 190 high from 80 on: 10 of 10 at its top, 5 in the middle, 0 at its bottom.
  EXPECT_THAT(svg, HasSubstr(",175.0 "));
  EXPECT_THAT(svg, HasSubstr(",80.0\""));
  EXPECT_THAT(svg, HasSubstr(",270.0 "));
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
  EXPECT_THAT(svg, HasSubstr("size, MB"));
  EXPECT_THAT(svg, HasSubstr("time, us"));
  EXPECT_THAT(svg, HasSubstr("in cache"));
}

TEST(ChartSvg, WithoutAShadeThereIsNone) {
  Chart chart = Example();
  chart.shaded_to = 0;
  EXPECT_THAT(ChartSvg(chart), Not(HasSubstr("in cache")));
  chart.shaded_to = 0.01;  // left of the axis
  EXPECT_THAT(ChartSvg(chart), Not(HasSubstr("in cache")));
}

}  // namespace
}  // namespace folio
