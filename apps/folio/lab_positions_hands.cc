// Q6: a model's rotary embedding as the hands of a clock.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "folio/lab_positions.h"
#include "folio/text_table.h"
#include "model/positions.h"
#include "model/positions/encoding.h"

namespace folio {
namespace {

constexpr std::size_t kRowsShown = 12;

// The score of a query at `query` and a key at `key`, the same two vectors wherever they stand.
double Score(const RotaryPositions& rotary, std::int64_t query, std::int64_t key) {
  const std::size_t elements = 2 * rotary.rope.frequencies.size();
  std::vector<float> q(elements);
  std::vector<float> k(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const auto x = static_cast<double>(i);
    q[i] = static_cast<float>(std::cos(1.3 * x));
    k[i] = static_cast<float>(std::cos(1.3 * x + 0.4));
  }
  TurnHead(Isa::kScalar, rotary, query, q);
  TurnHead(Isa::kScalar, rotary, key, k);
  double sum = 0;
  for (std::size_t i = 0; i < elements; ++i) sum += double{q[i]} * double{k[i]};
  return sum;
}

// Rows to show of `count`: all of few, else evenly spread, the first and the last among them.
std::vector<std::size_t> Shown(std::size_t count) {
  std::vector<std::size_t> rows;
  const std::size_t shown = std::min(count, kRowsShown);
  for (std::size_t i = 0; i < shown; ++i)
    rows.push_back(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  return rows;
}

void AddDistance(const RotaryPositions& rotary, LabStep& step, OutputJson& facts) {
  const double here = Score(rotary, 24, 20);
  const double there = Score(rotary, 1024, 1020);
  const double farther = Score(rotary, 1024, 1019);
  facts["scores"] = {{"24_20", here}, {"1024_1020", there}, {"1024_1019", farther}};
  step.lines.push_back(
      "A query and a key turned by these hands meet at the angle of their "
      "distance: at 24 and 20 their score is " +
      Decimal(here, 4) + ", at 1024 and 1020 " + Decimal(there, 4) + ", at 1024 and 1019 " +
      Decimal(farther, 4) + ".");
}

std::string About(const RopeConfig& config, const Rope& rope) {
  std::string text = "base " + Decimal(config.base, 0) + ", " +
                     std::to_string(rope.frequencies.size()) + " hands, scaling " +
                     std::string(RopeScalingName(config.scaling));
  if (!config.frequency_factors.empty()) text += ", divided by the file's factors";
  if (rope.attention_factor != 1.0)
    text += ", attention factor " + Significant(rope.attention_factor, 4);
  return text;
}

void AddHands(const ModelConfig& model, const RopeConfig& config, LabStep& step) {
  const auto context = static_cast<double>(model.context_length);
  const Rope rope = MakeRope(config, model.context_length);
  OutputJson facts = {{"base", config.base},
                      {"rotary_dim", config.rotary_dim},
                      {"scaling", RopeScalingName(config.scaling)},
                      {"frequency_factors", !config.frequency_factors.empty()},
                      {"attention_factor", rope.attention_factor},
                      {"hands", OutputJson::array()}};
  std::size_t around = 0;
  for (const double omega : rope.frequencies) {
    const double wavelength = Wavelength(omega);
    around += wavelength <= context ? 1 : 0;
    facts["hands"].push_back({{"radians_per_position", omega},
                              {"wavelength", wavelength},
                              {"turns", context / wavelength}});
  }
  facts["hands_around"] = around;
  step.lines.push_back(About(config, rope));
  TextTable table("rrrr");
  table.Add({"hand", "radians a position", "positions around", "turns"});
  for (const std::size_t i : Shown(rope.frequencies.size())) {
    const double wavelength = Wavelength(rope.frequencies[i]);
    table.Add({std::to_string(i), Significant(rope.frequencies[i], 5), Decimal(wavelength, 1),
               Decimal(context / wavelength, 3)});
  }
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  step.lines.push_back(std::to_string(around) + " of " + std::to_string(rope.frequencies.size()) +
                       " hands go around within the " + Grouped(model.context_length) +
                       " positions that it was trained for.");
  AddDistance({.rope = rope, .pairs = model.rope_pairs}, step, facts);
  step.facts["ropes"].push_back(std::move(facts));
}

}  // namespace

LabStep ClockHands(const PositionsModel& model) {
  LabStep step{.id = "Q6", .title = "the clock hands of " + model.config.name};
  step.facts = {{"model", model.file.path()},
                {"context_length", model.config.context_length},
                {"ropes", OutputJson::array()}};
  for (const RopeConfig& rope : model.config.ropes) AddHands(model.config, rope, step);
  return step;
}

}  // namespace folio
