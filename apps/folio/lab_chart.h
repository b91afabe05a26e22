// Charts of a lab: bars of plain characters for the terminal, and lines as SVG for a page. What is
// plotted stands against the same x in every panel.
#ifndef FOLIO_APPS_FOLIO_LAB_CHART_H_
#define FOLIO_APPS_FOLIO_LAB_CHART_H_

#include <string>
#include <string_view>
#include <vector>

namespace folio {

struct ChartSeries {
  std::string name;
  std::vector<double> y;  // one for each x, at least 0
};

struct ChartPanel {
  std::string y_label;  // with its unit; the axis begins at 0
  std::vector<ChartSeries> series;
};

struct Chart {
  std::string title;
  std::string x_label;              // with its unit; the axis is logarithmic
  std::vector<double> x;            // ascending, above 0; at least one
  std::vector<std::string> points;  // what stands above each x
  std::vector<ChartPanel> panels;
  double shaded_to = 0;  // x up to which the panels are shaded; 0: none is
  std::string shaded_label;
};

// A well-formed document. Series differ in colour (Okabe and Ito's palette, which people with any
// colour vision tell apart) and in the shape of their marks.
std::string ChartSvg(const Chart& chart);

// A round number not below `largest`: 1, 2 or 5 times a power of ten. 1 for 0.
double AxisTop(double largest);

// "&" and the like, spelled for XML.
std::string XmlEscaped(std::string_view text);

struct Bar {
  std::string label;
  double value = 0;
  std::string value_text;
};

// One line a bar; the largest value is `width` characters long, and any above 0 at least one.
std::vector<std::string> BarLines(const std::vector<Bar>& bars, int width);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_CHART_H_
