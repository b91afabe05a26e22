#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "folio/lab_chart.h"
#include "folio/text_table.h"

namespace folio {
namespace {

// Pixels.
constexpr double kWidth = 720;
constexpr double kLeft = 76;
constexpr double kRight = 24;
constexpr double kTop = 48;
constexpr double kPanelHeight = 190;
constexpr double kPanelGap = 64;  // with the legend of the next panel
constexpr double kBottom = 60;
constexpr double kMark = 5;  // half a mark's width

// Of Okabe and Ito: blue, vermilion, bluish green.
constexpr std::array<std::string_view, 3> kColours = {"#0072B2", "#D55E00", "#009E73"};

using Attributes = std::vector<std::pair<std::string_view, std::string>>;

std::string Number(double value) { return Decimal(value, 1); }

// What stands at an axis: three digits, and never an exponent for a large number.
std::string Tick(double value) {
  return value < 1000 ? Significant(value, 3)
                      : Grouped(static_cast<std::int64_t>(std::llround(value)));
}

std::string Open(std::string_view name, const Attributes& attributes) {
  std::string text = "<" + std::string(name);
  for (const auto& [key, value] : attributes)
    text += " " + std::string(key) + "=\"" + XmlEscaped(value) + "\"";
  return text;
}

std::string Element(std::string_view name, const Attributes& attributes) {
  return Open(name, attributes) + "/>\n";
}

enum class Anchor { kStart, kMiddle, kEnd };

std::string Text(double x, double y, Anchor anchor, std::string_view words,
                 Attributes more = Attributes()) {
  constexpr std::array<std::string_view, 3> kNames = {"start", "middle", "end"};
  Attributes attributes = {{"x", Number(x)},
                           {"y", Number(y)},
                           {"text-anchor", std::string(kNames[static_cast<std::size_t>(anchor)])}};
  for (auto& each : more) attributes.push_back(std::move(each));
  return Open("text", attributes) + ">" + XmlEscaped(words) + "</text>\n";
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view colour) {
  return Element("line", {{"x1", Number(x1)},
                          {"y1", Number(y1)},
                          {"x2", Number(x2)},
                          {"y2", Number(y2)},
                          {"stroke", std::string(colour)}});
}

std::string Mark(double x, double y, std::size_t series) {
  const std::string colour(kColours[series % kColours.size()]);
  if (series % 2 == 0) {
    return Element("circle",
                   {{"cx", Number(x)}, {"cy", Number(y)}, {"r", Number(kMark)}, {"fill", colour}});
  }
  return Element("rect", {{"x", Number(x - kMark)},
                          {"y", Number(y - kMark)},
                          {"width", Number(2 * kMark)},
                          {"height", Number(2 * kMark)},
                          {"fill", colour}});
}

// Where x lies between the two ends of the axis, which stand a little outside the points.
class XAxis {
 public:
  explicit XAxis(const std::vector<double>& x)
      : low_(std::log(x.front()) - kMargin), high_(std::log(x.back()) + kMargin) {}

  double At(double x) const {
    return kLeft + (kWidth - kLeft - kRight) * (std::log(x) - low_) / (high_ - low_);
  }

 private:
  static constexpr double kMargin = 0.3;  // of the logarithm
  double low_;
  double high_;
};

double PanelTop(std::size_t panel) {
  return kTop + kPanelGap / 2 + static_cast<double>(panel) * (kPanelHeight + kPanelGap);
}

std::string Grid(const ChartPanel& panel, double top, double highest) {
  constexpr int kSteps = 4;
  std::string svg;
  for (int step = 0; step <= kSteps; ++step) {
    const double y = top + kPanelHeight * (1 - static_cast<double>(step) / kSteps);
    svg += Line(kLeft, y, kWidth - kRight, y, step == 0 ? "#333333" : "#dddddd");
    svg += Text(kLeft - 8, y + 4, Anchor::kEnd, Tick(highest * step / kSteps));
  }
  const double middle = top + kPanelHeight / 2;
  svg += Text(18, middle, Anchor::kMiddle, panel.y_label,
              {{"transform", "rotate(-90 18 " + Number(middle) + ")"}});
  return svg;
}

std::string Shade(const Chart& chart, const XAxis& axis, double top, bool labelled) {
  const double end = std::min(axis.At(chart.shaded_to), kWidth - kRight);
  if (chart.shaded_to <= 0 || end <= kLeft) return "";
  std::string svg = Element("rect", {{"x", Number(kLeft)},
                                     {"y", Number(top)},
                                     {"width", Number(end - kLeft)},
                                     {"height", Number(kPanelHeight)},
                                     {"fill", "#eef2f6"}});
  if (labelled) svg += Text(kLeft + 8, top + 16, Anchor::kStart, chart.shaded_label);
  return svg;
}

std::string Legend(const ChartPanel& panel, double top) {
  std::string svg;
  double x = kLeft;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    svg += Mark(x + kMark, top - 14, i) +
           Text(x + 3 * kMark, top - 10, Anchor::kStart, panel.series[i].name);
    x += 40 + 7.0 * static_cast<double>(panel.series[i].name.size());
  }
  return svg;
}

std::string Curves(const Chart& chart, const ChartPanel& panel, const XAxis& axis, double top,
                   double highest) {
  std::string svg;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    std::string points;
    std::string marks;
    for (std::size_t at = 0; at < chart.x.size(); ++at) {
      const double x = axis.At(chart.x[at]);
      const double y = top + kPanelHeight * (1 - panel.series[i].y[at] / highest);
      points += (points.empty() ? "" : " ") + Number(x) + "," + Number(y);
      marks += Mark(x, y, i);
    }
    svg += Element("polyline", {{"points", points},
                                {"fill", "none"},
                                {"stroke", std::string(kColours[i % kColours.size()])},
                                {"stroke-width", "2"}});
    svg += marks;
  }
  return svg;
}

std::string Panel(const Chart& chart, std::size_t index, const XAxis& axis) {
  const ChartPanel& panel = chart.panels[index];
  const double top = PanelTop(index);
  double largest = 0;
  for (const ChartSeries& series : panel.series)
    largest = std::max(largest, *std::ranges::max_element(series.y));
  const double highest = AxisTop(largest);
  return Shade(chart, axis, top, index == 0) + Grid(panel, top, highest) + Legend(panel, top) +
         Curves(chart, panel, axis, top, highest);
}

std::string XLabels(const Chart& chart, const XAxis& axis, double bottom) {
  std::string svg;
  for (std::size_t i = 0; i < chart.x.size(); ++i) {
    const double x = axis.At(chart.x[i]);
    svg += Line(x, bottom, x, bottom + 5, "#333333");
    svg += Text(x, bottom + 18, Anchor::kMiddle, Tick(chart.x[i]));
    svg += Text(x, bottom + 33, Anchor::kMiddle, chart.points[i], {{"fill", "#555555"}});
  }
  return svg + Text((kLeft + kWidth - kRight) / 2, bottom + 53, Anchor::kMiddle, chart.x_label);
}

}  // namespace

std::string XmlEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

double AxisTop(double largest) {
  if (largest <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(largest)));
  for (const double step : {1.0, 2.0, 5.0})
    if (largest <= step * power) return step * power;
  return 10 * power;
}

std::string ChartSvg(const Chart& chart) {
  const double bottom = PanelTop(chart.panels.size() - 1) + kPanelHeight;
  const XAxis axis(chart.x);
  std::string svg =
      Open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                   {"viewBox", "0 0 " + Number(kWidth) + " " + Number(bottom + kBottom)},
                   {"role", "img"},
                   {"font-family", "sans-serif"},
                   {"font-size", "12"},
                   {"fill", "#222222"}}) +
      ">\n<title>" + XmlEscaped(chart.title) + "</title>\n";
  svg += Element("rect", {{"width", "100%"}, {"height", "100%"}, {"fill", "#ffffff"}});
  svg += Text(kLeft, 26, Anchor::kStart, chart.title, {{"font-size", "15"}});
  for (std::size_t panel = 0; panel < chart.panels.size(); ++panel)
    svg += Panel(chart, panel, axis);
  return svg + XLabels(chart, axis, bottom) + "</svg>\n";
}

}  // namespace folio
