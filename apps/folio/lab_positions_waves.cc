// Q2 to Q5: a position as a fraction, in binary, and as sines and cosines.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "folio/lab_positions.h"
#include "folio/text_table.h"
#include "model/positions/rope.h"
#include "model/positions/sinusoidal.h"

namespace folio {
namespace {

constexpr std::int64_t kPosition = 24;
constexpr int kBits = 6;
constexpr std::int64_t kWaveDim = 8;

std::string Binary(std::uint32_t number) {
  std::string text;
  for (int bit = kBits - 1; bit >= 0; --bit) text += (number >> bit & 1U) != 0 ? '1' : '0';
  return text;
}

int FlipsTo(std::uint32_t number) { return std::popcount(number ^ (number - 1)); }

// The largest step of any dimension from one position to the next.
double LargestStep(std::int64_t from) {
  const std::vector<double> a = SinusoidalPosition(from, kWaveDim);
  const std::vector<double> b = SinusoidalPosition(from + 1, kWaveDim);
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(b[i] - a[i]));
  return largest;
}

double LongestWavelength(std::int64_t dim) {
  return Wavelength(RopeFrequencies({.base = kSinusoidalBase, .rotary_dim = dim}).back());
}

}  // namespace

LabStep PositionAsFraction() {
  LabStep step{.id = "Q2", .title = "position 24 as a fraction of the length"};
  step.facts = {{"position", kPosition}, {"fractions", OutputJson::array()}};
  for (const std::int64_t length : {64, 1000}) {
    const double fraction = static_cast<double>(kPosition) / static_cast<double>(length);
    step.facts["fractions"].push_back({{"length", length}, {"value", fraction}});
    step.lines.push_back(std::to_string(kPosition) + " of " + Grouped(length) + ": " +
                         Decimal(fraction, 3));
  }
  step.lines.emplace_back("The same position has another code in every length.");
  return step;
}

LabStep PositionInBinary() {
  constexpr std::uint32_t kHere = kPosition;
  LabStep step{.id = "Q3", .title = "position 24 in binary, six bits"};
  TextTable table("rlr");
  table.Add({"position", "bits", "flipped"});
  step.facts = {{"positions", OutputJson::array()}};
  for (const std::uint32_t position : {kHere - 1, kHere, kHere + 1}) {
    table.Add({std::to_string(position), Binary(position), std::to_string(FlipsTo(position))});
    step.facts["positions"].push_back(
        {{"position", position}, {"bits", Binary(position)}, {"flipped", FlipsTo(position)}});
  }
  step.lines = table.Lines();
  std::uint32_t worst = 1;
  for (std::uint32_t position = 1; position < 1U << kBits; ++position) {
    if (FlipsTo(position) > FlipsTo(worst)) worst = position;
  }
  step.facts["most_flipped"] = {{"position", worst}, {"flipped", FlipsTo(worst)}};
  step.lines.push_back("Bounded and the same in every length, but it jumps: one step flips up to " +
                       std::to_string(FlipsTo(worst)) + " bits (" + std::to_string(worst - 1) +
                       " to " + std::to_string(worst) + ").");
  return step;
}

LabStep SinusoidalWaves() {
  LabStep step{.id = "Q4", .title = "sinusoidal positions of 8 dimensions"};
  step.lines = {"PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d))"};
  const std::vector<double> frequencies =
      RopeFrequencies({.base = kSinusoidalBase, .rotary_dim = kWaveDim});
  step.facts = {{"dim", kWaveDim}, {"pairs", OutputJson::array()}, {"values", OutputJson::array()}};
  constexpr std::array<std::int64_t, 5> kShown = {0, 1, 23, 24, 1000};
  TextTable table("rrr" + std::string(kShown.size(), 'r'));
  std::vector<std::string> head = {"pair", "wavelength", "of pi"};
  std::vector<std::vector<double>> values;
  for (const std::int64_t position : kShown) {
    head.push_back("pos " + std::to_string(position));
    values.push_back(SinusoidalPosition(position, kWaveDim));
    step.facts["values"].push_back({{"position", position}, {"pe", values.back()}});
  }
  table.Add(std::move(head));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double wavelength = Wavelength(frequencies[i]);
    const double of_pi = wavelength / std::numbers::pi;
    std::vector<std::string> sines = {std::to_string(i), Decimal(wavelength, 2), Decimal(of_pi, 0)};
    std::vector<std::string> cosines = {"", "", ""};
    for (const std::vector<double>& pe : values) {
      sines.push_back("sin " + Decimal(pe[2 * i], 4));
      cosines.push_back("cos " + Decimal(pe[2 * i + 1], 4));
    }
    table.Add(std::move(sines));
    table.Add(std::move(cosines));
    step.facts["pairs"].push_back({{"pair", i}, {"wavelength", wavelength}, {"of_pi", of_pi}});
  }
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  const double largest = LargestStep(kPosition - 1);
  step.facts["largest_step_23_to_24"] = largest;
  step.lines.push_back("From 23 to 24 no dimension moves by more than " + Decimal(largest, 3) +
                       ", the fastest hand's; a bit's flip is the whole range.");
  return step;
}

LabStep LongestWaves(std::int64_t dim) {
  constexpr double kLimit = 2 * std::numbers::pi * kSinusoidalBase;
  LabStep step{.id = "Q5", .title = "the longest wavelength, 2 pi 10000^((d-2)/d)"};
  std::vector<std::int64_t> dims = {8, 64, 512, 4096};
  if (dim > 0 && std::ranges::find(dims, dim) == dims.end()) dims.push_back(dim);
  std::ranges::sort(dims);
  TextTable table("rrr");
  table.Add({"d", "positions", "of the limit"});
  step.facts = {{"limit", kLimit}, {"longest", OutputJson::array()}};
  for (const std::int64_t d : dims) {
    const double longest = LongestWavelength(d);
    table.Add({std::to_string(d), Decimal(longest, 1), Decimal(100 * longest / kLimit, 1) + " %"});
    step.facts["longest"].push_back({{"dim", d}, {"wavelength", longest}});
  }
  step.lines = table.Lines();
  step.lines.push_back("The limit is 2 pi 10000 = " + Decimal(kLimit, 1) +
                       " positions: shorter sequences have a code of their own at every position.");
  return step;
}

}  // namespace folio
