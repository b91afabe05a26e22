#include <algorithm>
#include <cmath>

#include "folio/lab_chart.h"
#include "folio/text_table.h"

namespace folio {

std::vector<std::string> BarLines(const std::vector<Bar>& bars, int width) {
  double largest = 0;
  for (const Bar& bar : bars) largest = std::max(largest, bar.value);
  TextTable table("rlr");
  for (const Bar& bar : bars) {
    double length = largest > 0 ? std::round(width * bar.value / largest) : 0;
    if (bar.value > 0) length = std::max(length, 1.0);
    std::string drawn(static_cast<std::size_t>(length), '#');
    drawn.resize(static_cast<std::size_t>(width), ' ');
    table.Add({bar.label, "|" + drawn, bar.value_text});
  }
  return table.Lines();
}

}  // namespace folio
