// E6 as it is told: a table, bars for the terminal, and a file of SVG.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "folio/lab_chart.h"
#include "folio/lab_cpu_caches.h"
#include "folio/lab_moe.h"
#include "folio/lab_moe_growth.h"
#include "folio/text_table.h"

namespace folio {
namespace {

constexpr int kBarWidth = 40;

// Bytes of the cache before memory; 0 if the system does not say.
std::size_t LastLevelCache() {
  const std::vector<CpuCache> caches = DataCaches();
  return caches.empty() ? 0 : caches.back().bytes;
}

bool Fits(const GrowthPoint& point, std::size_t cache) { return point.total_bytes <= cache; }

std::string Millions(std::int64_t number) {
  return Decimal(static_cast<double>(number) / 1e6, 1) + " M";
}
std::string Megabytes(std::uint64_t bytes) {
  return Decimal(static_cast<double>(bytes) / 1e6, 2) + " MB";
}
std::string Microseconds(double seconds) { return Decimal(1e6 * seconds, 0) + " us"; }

OutputJson PointJson(const GrowthPoint& point, std::size_t cache) {
  const auto seconds = [](double value) { return value > 0 ? OutputJson(value) : OutputJson(); };
  return {{"experts", point.sizes.experts},
          {"parameters", point.parameters.total},
          {"active_parameters", point.parameters.active},
          {"bytes", point.total_bytes},
          {"router_bytes", point.router_bytes},
          {"bytes_per_token", point.token_bytes},
          {"fits_last_level_cache", cache > 0 ? OutputJson(Fits(point, cache)) : OutputJson()},
          {"seconds_one_layer", seconds(point.one_layer_seconds)},
          {"seconds_layers_in_turn", seconds(point.in_turn_seconds)}};
}

std::vector<std::string> Table(const std::vector<GrowthPoint>& points, std::size_t cache,
                               bool measured) {
  TextTable table("rrrrrlrr");
  std::vector<std::string> head = {"experts", "parameters", "of a token",
                                   "read",    "router's",   "in cache"};
  if (measured) head.insert(head.end(), {"one layer", "in turn"});
  table.Add(std::move(head));
  for (const GrowthPoint& point : points) {
    std::vector<std::string> cells = {std::to_string(point.sizes.experts),
                                      Millions(point.parameters.total),
                                      Millions(point.parameters.active),
                                      Megabytes(point.token_bytes),
                                      Megabytes(point.router_bytes),
                                      cache == 0 ? "unknown" : Fits(point, cache) ? "yes" : "no"};
    if (measured) {
      cells.push_back(Microseconds(point.one_layer_seconds));
      cells.push_back(Microseconds(point.in_turn_seconds));
    }
    table.Add(std::move(cells));
  }
  return table.Lines();
}

template <typename Of>
void AddBars(const std::string& title, const std::vector<GrowthPoint>& points, const Of& of,
             LabStep& step) {
  std::vector<Bar> bars;
  for (const GrowthPoint& point : points) {
    bars.push_back(of(point));
    bars.back().label = std::to_string(point.sizes.experts);
  }
  step.lines.emplace_back();
  step.lines.push_back(title);
  for (std::string& line : BarLines(bars, kBarWidth)) step.lines.push_back(std::move(line));
}

void AddAllBars(const std::vector<GrowthPoint>& points, bool measured, LabStep& step) {
  AddBars(
      "parameters of the layer, by its experts", points,
      [](const GrowthPoint& point) {
        return Bar{.value = static_cast<double>(point.parameters.total),
                   .value_text = Millions(point.parameters.total)};
      },
      step);
  AddBars(
      "bytes read for a token", points,
      [](const GrowthPoint& point) {
        return Bar{.value = static_cast<double>(point.token_bytes),
                   .value_text = Megabytes(point.token_bytes)};
      },
      step);
  if (!measured) return;
  AddBars(
      "time of a token, layers in turn", points,
      [](const GrowthPoint& point) {
        return Bar{.value = point.in_turn_seconds,
                   .value_text = Microseconds(point.in_turn_seconds)};
      },
      step);
  step.lines.emplace_back();
}

Chart ChartOf(const std::vector<GrowthPoint>& points, std::size_t cache) {
  Chart chart{.title = "A token's cost in a Mixture-of-Experts layer, 8 experts a token",
              .x_label = "parameters of the layer, in millions (logarithmic); below, its experts",
              .panels = {{.y_label = "time of a token, us",
                          .series = {{.name = "another layer each time (from memory)"},
                                     {.name = "one layer (from cache where it fits)"}}},
                         {.y_label = "bytes read for a token, MB",
                          .series = {{.name = "router and experts"}, {.name = "the router's"}}}},
              .shaded_label = "all experts fit the last-level cache"};
  for (const GrowthPoint& point : points) {
    chart.x.push_back(static_cast<double>(point.parameters.total) / 1e6);
    chart.points.push_back(std::to_string(point.sizes.experts) + " experts");
    chart.panels[0].series[0].y.push_back(1e6 * point.in_turn_seconds);
    chart.panels[0].series[1].y.push_back(1e6 * point.one_layer_seconds);
    chart.panels[1].series[0].y.push_back(static_cast<double>(point.token_bytes) / 1e6);
    chart.panels[1].series[1].y.push_back(static_cast<double>(point.router_bytes) / 1e6);
    // Bytes and parameters go together, so the border lies where the bytes would be the cache's.
    chart.shaded_to =
        chart.x.back() * static_cast<double>(cache) / static_cast<double>(point.total_bytes);
  }
  return chart;
}

Status WriteFile(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return RuntimeError(path, "open", std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0) return RuntimeError(path, "write", std::strerror(errno));
  return written ? Status() : RuntimeError(path, "write", std::strerror(error));
}

double Times(double last, double first) { return last / first; }

void AddGrowth(const std::vector<GrowthPoint>& points, bool measured, LabStep& step) {
  const GrowthPoint& first = points.front();
  const GrowthPoint& last = points.back();
  const double parameters = Times(static_cast<double>(last.parameters.total),
                                  static_cast<double>(first.parameters.total));
  const double bytes =
      Times(static_cast<double>(last.token_bytes), static_cast<double>(first.token_bytes));
  step.facts["growth"] = {{"parameters", parameters}, {"bytes_per_token", bytes}};
  std::string line = "From 8 to 896 experts the parameters grow " + Decimal(parameters, 0) +
                     " times, the bytes of a token " + Decimal(bytes, 2) + " times";
  if (measured) {
    const double seconds = Times(last.in_turn_seconds, first.in_turn_seconds);
    step.facts["growth"]["seconds_layers_in_turn"] = seconds;
    line += ", its time " + Decimal(seconds, 2) + " times";
  }
  step.lines.push_back(
      line +
      ". What grows is the router, of BF16 as in checkpoints; beside larger experts it is less.");
}

void AddNotes(const MoeSetting& setting, std::size_t cache, bool measured, LabStep& step) {
  if (!measured) {
    step.lines.emplace_back(
        "Counted. --measure runs the layers (a few seconds) and times a token.");
    return;
  }
  const std::size_t touched = ExpertStore::Bytes(setting);
  const std::string size =
      cache > 0 ? "the last-level cache of " + HumanBytes(cache) : "the caches, of unknown size";
  step.lines.push_back(
      "Times are medians. One layer: every token goes through the same one, so "
      "where all its experts fit " +
      size + " they come from there, and the time is not comparable with those of more.");
  step.lines.push_back("In turn: each token goes through another layer, as in a model, until " +
                       HumanBytes(touched) + " were touched" +
                       (touched <= cache
                            ? "; that fits the cache too: take a larger --hidden or --expert-ffn."
                            : ": the experts come from memory at every size."));
}

}  // namespace

Result<LabStep> MoeGrowth(const MoeSetting& setting, ThreadPool& pool) {
  std::vector<GrowthPoint> points = CountGrowth(setting);
  const bool measured = setting.measure || !setting.svg.empty();
  if (measured) {
    if (const Status done = MeasureGrowth(setting, pool, points); !done)
      return std::unexpected(done.error());
  }
  const std::size_t cache = LastLevelCache();
  LabStep step{.id = "E6",
               .title = "ever more experts of " + std::to_string(setting.hidden) + " x " +
                        std::to_string(setting.expert_ffn) + ", " +
                        std::string(TypeInfo(setting.type).name) + ", 8 of them a token (" +
                        std::string(IsaName(setting.isa)) +
                        ", threads: " + std::to_string(pool.size()) + ")"};
  step.facts = {{"hidden", setting.hidden},
                {"expert_ffn", setting.expert_ffn},
                {"type", TypeInfo(setting.type).name},
                {"experts_per_token", kGrowthTopK},
                {"isa", IsaName(setting.isa)},
                {"threads", pool.size()},
                {"memory_bytes", ExpertStore::Bytes(setting)},
                {"last_level_cache_bytes", cache > 0 ? OutputJson(cache) : OutputJson()},
                {"points", OutputJson::array()}};
  for (const GrowthPoint& point : points) step.facts["points"].push_back(PointJson(point, cache));
  step.lines = Table(points, cache, measured);
  AddAllBars(points, measured, step);
  AddGrowth(points, measured, step);
  AddNotes(setting, cache, measured, step);
  if (!setting.svg.empty()) {
    if (const Status done = WriteFile(setting.svg, ChartSvg(ChartOf(points, cache))); !done)
      return std::unexpected(done.error());
    step.lines.push_back("The same as a chart: " + setting.svg);
    step.facts["svg"] = setting.svg;
  }
  return step;
}

}  // namespace folio
