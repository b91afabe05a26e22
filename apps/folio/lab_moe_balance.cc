// E4 and E5: the load-balancing loss of a router that sends all to one expert, and of an even one.
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "folio/lab_moe.h"
#include "folio/text_table.h"
#include "model/expert_load.h"

namespace folio {
namespace {

constexpr double kAlpha = 0.01;  // Switch Transformers'
constexpr int kExperts = 4;
constexpr std::size_t kTokens = 4;

using Probabilities = std::array<std::array<float, kExperts>, kTokens>;

// Rows of our own with the text's P_1 = 0.5825: it has them in a drawing only.
constexpr Probabilities kUneven = {{{0.62F, 0.18F, 0.10F, 0.10F},
                                    {0.55F, 0.15F, 0.20F, 0.10F},
                                    {0.58F, 0.12F, 0.15F, 0.15F},
                                    {0.58F, 0.22F, 0.08F, 0.12F}}};
constexpr Probabilities kEven = {{{0.40F, 0.20F, 0.20F, 0.20F},
                                  {0.20F, 0.40F, 0.20F, 0.20F},
                                  {0.20F, 0.20F, 0.40F, 0.20F},
                                  {0.20F, 0.20F, 0.20F, 0.40F}}};

// What the router's softmax makes of the logits that these probabilities come from.
ExpertLoad LoadOf(const Probabilities& rows) {
  ExpertLoad load(kExperts);
  for (const auto& row : rows) {
    std::array<float, kExperts> logits;
    std::array<float, kExperts> scores;
    for (std::size_t i = 0; i < kExperts; ++i) logits[i] = std::log(row[i]);
    RoutedExpert chosen;
    Route({.experts = kExperts, .top_k = 1, .weights = RouterWeights::kScores}, logits.data(),
          nullptr, scores.data(), {&chosen, 1});
    load.Add({&chosen, 1}, scores);
  }
  return load;
}

LabStep Balance(std::string id, std::string title, const Probabilities& rows) {
  LabStep step{.id = std::move(id), .title = std::move(title)};
  const ExpertLoad load = LoadOf(rows);
  TextTable table("lrrrr");
  table.Add({"", "expert 1", "expert 2", "expert 3", "expert 4"});
  for (std::size_t token = 0; token < kTokens; ++token) {
    std::vector<std::string> cells = {"t" + std::to_string(token + 1)};
    for (const float probability : rows[token]) cells.push_back(Decimal(probability, 2));
    table.Add(std::move(cells));
  }
  std::vector<std::string> means = {"P_i, mean probability"};
  std::vector<std::string> fractions = {"f_i, share of tokens"};
  step.facts = {{"tokens", kTokens}, {"experts", kExperts}, {"probabilities", rows}};
  for (int expert = 0; expert < kExperts; ++expert) {
    means.push_back(Decimal(load.MeanScore(expert), 4));
    fractions.push_back(Decimal(load.Fraction(expert), 2));
    step.facts["p"].push_back(load.MeanScore(expert));
    step.facts["f"].push_back(load.Fraction(expert));
  }
  table.Add(std::move(means));
  table.Add(std::move(fractions));
  step.lines = table.Lines();
  const double loss = load.BalanceLoss();
  step.lines.push_back("E x sum of f_i P_i = " + Decimal(loss, 2) + "; times alpha = " +
                       Decimal(kAlpha, 2) + ": " + Significant(kAlpha * loss, 3));
  step.facts["loss"] = loss;
  step.facts["alpha"] = kAlpha;
  step.facts["weighted_loss"] = kAlpha * loss;
  step.facts["entropy"] = load.Entropy();
  return step;
}

}  // namespace

LabSteps MoeBalance() {
  LabSteps steps = {
      Balance("E4", "the balancing loss of a router that prefers one expert", kUneven),
      Balance("E5", "... and of an even one: the minimum", kEven)};
  steps.back().lines.emplace_back(
      "f_i counts, so no gradient passes through it; P_i comes from softmax, so one does. Counted "
      "by ExpertLoad (expert_load.h), which does the same for a running model.");
  return steps;
}

}  // namespace folio
