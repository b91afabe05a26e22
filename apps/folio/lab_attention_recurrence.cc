// F4: the recurrences of the online softmax, step by step against the sums that they stand for.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "folio/lab_attention.h"
#include "folio/text_table.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr std::size_t kShown = 8;
constexpr std::size_t kPositions = 64;

struct State {
  double m = -std::numeric_limits<double>::infinity();
  double d = 0;
  double o = 0;  // one dimension of the output
};

State Next(const State& before, double x, double v) {
  State now;
  now.m = std::max(before.m, x);
  const double kept = before.d * std::exp(before.m - now.m);
  now.d = kept + std::exp(x - now.m);
  now.o = before.o * kept / now.d + std::exp(x - now.m) / now.d * v;
  return now;
}

// What the state after x[0..i] stands for, as sums over all of them.
State Defined(const std::vector<double>& x, const std::vector<double>& v, std::size_t i) {
  State state;
  state.m = *std::max_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  for (std::size_t j = 0; j <= i; ++j) state.d += std::exp(x[j] - state.m);
  for (std::size_t j = 0; j <= i; ++j) state.o += std::exp(x[j] - state.m) / state.d * v[j];
  return state;
}

}  // namespace

LabStep AttentionRecurrences(const AttentionSetting& setting) {
  std::vector<double> x(kPositions);
  std::vector<double> v(kPositions);
  for (std::size_t i = 0; i < kPositions; ++i) {
    x[i] = 24 * UniformAt(setting.seed, 10, static_cast<std::int64_t>(i)) - 12;
    v[i] = 2 * UniformAt(setting.seed, 11, static_cast<std::int64_t>(i)) - 1;
  }
  LabStep step{.id = "F4", .title = "the recurrences of d' and o', in float64"};
  step.lines = {"d'(i) = d'(i-1) e^(m(i-1) - m(i)) + e^(x(i) - m(i))",
                "o'(i) = o'(i-1) d'(i-1) e^(m(i-1) - m(i)) / d'(i) + e^(x(i) - m(i)) / d'(i) v(i)",
                ""};
  TextTable table("rrrrrrr");
  table.Add({"i", "x", "m", "d'", "d' as a sum", "o'", "o' as a sum"});
  double worst = 0;
  step.facts["steps"] = OutputJson::array();
  State state;
  for (std::size_t i = 0; i < kPositions; ++i) {
    state = Next(state, x[i], v[i]);
    const State defined = Defined(x, v, i);
    worst =
        std::max({worst, std::abs(state.d - defined.d) / defined.d, std::abs(state.o - defined.o)});
    step.facts["steps"].push_back({{"x", x[i]},
                                   {"v", v[i]},
                                   {"m", state.m},
                                   {"d", state.d},
                                   {"d_as_sum", defined.d},
                                   {"o", state.o},
                                   {"o_as_sum", defined.o}});
    if (i >= kShown && i + 1 < kPositions) continue;
    table.Add({std::to_string(i + 1), Decimal(x[i], 3), Decimal(state.m, 3), Decimal(state.d, 9),
               Decimal(defined.d, 9), Decimal(state.o, 9), Decimal(defined.o, 9)});
  }
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  // With the maximum of all: the softmax that is wanted.
  const State wanted = Defined(x, v, kPositions - 1);
  step.lines.push_back("Over " + std::to_string(kPositions) + " steps they differ by " +
                       Significant(worst, 2) +
                       " at most. After the last, m is the row's maximum, and o' is the output of "
                       "softmax over the whole row.");
  step.facts["largest_difference"] = worst;
  step.facts["o_of_softmax"] = wanted.o;
  return step;
}

}  // namespace folio
