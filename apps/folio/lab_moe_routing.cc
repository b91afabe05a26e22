// E8, E1 and E2: one token through a router, and through the one or two experts that it chooses.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "folio/lab_moe.h"
#include "folio/lab_moe_layer.h"
#include "folio/text_table.h"
#include "kernels/product.h"

namespace folio {
namespace {

constexpr std::int64_t kHidden = 3;
constexpr std::int64_t kExpertFfn = 4;
constexpr int kExperts = 4;

constexpr std::array<float, kHidden> kToken = {1.0F, 2.0F, -1.0F};
// [experts, hidden]: the columns of the text's W_g. With kToken they give its probabilities.
constexpr std::array<float, kExperts * kHidden> kRouter = {0.6015F,  1.0F,  0.4F,   //
                                                           -0.3007F, 0.62F, -0.4F,  //
                                                           0.5043F,  -0.1F, 0.3F,   //
                                                           0.9288F,  0.5F,  0.1F};

struct RoutedToken {
  std::vector<float> scores;                       // [experts]
  std::vector<RoutedExpert> chosen;                // [top_k]
  std::vector<float> output;                       // [hidden], of the layer
  std::vector<std::vector<float>> expert_outputs;  // [top_k][hidden]
  double largest_difference = 0;  // of the output to the weighted sum of these, in float64
};

double DifferenceToSum(const RoutedToken& token) {
  double largest = 0;
  for (std::size_t i = 0; i < token.output.size(); ++i) {
    double sum = 0;
    for (std::size_t choice = 0; choice < token.chosen.size(); ++choice)
      sum += double{token.chosen[choice].weight} * double{token.expert_outputs[choice][i]};
    largest = std::max(largest, std::abs(double{token.output[i]} - sum));
  }
  return largest;
}

Result<RoutedToken> RouteToken(const RouterConfig& router, const TinyExperts& experts, Isa isa,
                               ThreadPool& pool) {
  const auto layer = LabMoe::Create(kHidden, kExpertFfn, router, 1, isa, pool);
  if (!layer) return std::unexpected(layer.error());
  const auto alone = LabMoe::Create(kHidden, kExpertFfn, {.experts = 1, .top_k = 1}, 1, isa, pool);
  if (!alone) return std::unexpected(alone.error());
  RoutedToken token{.output = (*layer)->Output(experts.weights, kToken)};
  const LayerRouting& routing = (*layer)->routing();
  token.scores.assign(routing.scores.begin(), routing.scores.end());
  token.chosen.assign(routing.chosen.begin(), routing.chosen.end());
  for (const RoutedExpert& each : token.chosen) {
    const MoeWeights one = experts.Alone(static_cast<std::size_t>(each.expert));
    token.expert_outputs.push_back((*alone)->Output(one, kToken));
  }
  token.largest_difference = DifferenceToSum(token);
  return token;
}

LabStep LinearLayer(const TinyExperts& experts, const RoutedToken& token, Isa isa,
                    ThreadPool& pool) {
  LabStep step{.id = "E8", .title = "the router: one linear layer d x E, then softmax"};
  std::array<float, kExperts> logits;
  const ProductTarget target{&experts.weights.router, logits.data(), kExperts};
  Multiply(isa, {.rows = 1, .k = kHidden, .floats = kToken.data()}, {&target, 1}, pool);
  TextTable table("lrrrr");
  table.Add({"x = (" + Decimals(kToken, 1) + ")", "expert 1", "expert 2", "expert 3", "expert 4"});
  OutputJson matrix = OutputJson::array();
  for (std::size_t row = 0; row < kHidden; ++row) {
    std::vector<std::string> cells = {"W_g, row " + std::to_string(row + 1)};
    OutputJson json = OutputJson::array();
    for (std::size_t expert = 0; expert < kExperts; ++expert) {
      cells.push_back(Decimal(kRouter[expert * kHidden + row], 4));
      json.push_back(kRouter[expert * kHidden + row]);
    }
    table.Add(std::move(cells));
    matrix.push_back(std::move(json));
  }
  std::vector<std::string> logit_cells = {"logits, x W_g"};
  std::vector<std::string> score_cells = {"softmax"};
  for (std::size_t expert = 0; expert < kExperts; ++expert) {
    logit_cells.push_back(Decimal(logits[expert], 4));
    score_cells.push_back(Decimal(token.scores[expert], 2));
  }
  table.Add(std::move(logit_cells));
  table.Add(std::move(score_cells));
  step.lines = table.Lines();
  step.lines.emplace_back(
      "So it is in Switch Transformers and in Mixtral; the engine computes it with the product "
      "that "
      "serves every other matrix, and softmax in Route (moe_router.h). The router has d x E = 12 "
      "parameters here; it is the only part of the layer whose work grows with E.");
  step.facts = {{"hidden", kHidden},
                {"experts", kExperts},
                {"x", kToken},
                {"router", std::move(matrix)},
                {"parameters", kRouter.size()},
                {"logits", logits},
                {"probabilities", token.scores}};
  return step;
}

void AddOutput(const RoutedToken& token, LabStep& step) {
  for (std::size_t choice = 0; choice < token.chosen.size(); ++choice) {
    step.lines.push_back("expert " + std::to_string(token.chosen[choice].expert + 1) + ":  " +
                         Decimal(token.chosen[choice].weight, 2) + " x (" +
                         Decimals(token.expert_outputs[choice], 4) + ")");
  }
  step.lines.push_back("layer:     = (" + Decimals(token.output, 4) + ")");
  step.facts["probabilities"] = token.scores;
  step.facts["chosen"] = ChosenJson(token.chosen);
  step.facts["expert_outputs"] = token.expert_outputs;
  step.facts["output"] = token.output;
  step.facts["largest_difference"] = token.largest_difference;
}

LabStep Switch(const RoutedToken& token) {
  LabStep step{.id = "E1", .title = "Switch: the best expert, its output times its probability"};
  AddOutput(token, step);
  step.lines.emplace_back(
      "The probability is not renormalised: divided by itself it would be 1, and no gradient would "
      "reach the router through it.");
  return step;
}

LabStep Mixtral(const RoutedToken& renormalised, const RoutedToken& softmax) {
  LabStep step{.id = "E2", .title = "Mixtral: the best two, their weights renormalised"};
  AddOutput(renormalised, step);
  double sum = 0;
  for (const RoutedExpert& each : renormalised.chosen)
    sum += double{renormalised.scores[static_cast<std::size_t>(each.expert)]};
  for (const RoutedExpert& each : renormalised.chosen) {
    step.lines.push_back(Decimal(renormalised.scores[static_cast<std::size_t>(each.expert)], 2) +
                         " / " + Decimal(sum, 2) + " = " + Decimal(each.weight, 2));
  }
  step.lines.push_back(
      "softmax over the two chosen logits alone: " + Decimal(softmax.chosen[0].weight, 2) +
      " and " + Decimal(softmax.chosen[1].weight, 2) +
      ", the same, as the others' share of the denominator cancels");
  step.facts["sum_of_chosen"] = sum;
  step.facts["softmax_of_chosen"] = ChosenJson(softmax.chosen);
  return step;
}

}  // namespace

OutputJson ChosenJson(std::span<const RoutedExpert> chosen) {
  OutputJson json = OutputJson::array();
  for (const RoutedExpert& each : chosen)
    json.push_back({{"expert", each.expert + 1}, {"weight", each.weight}});
  return json;
}

std::string Decimals(std::span<const float> values, int digits) {
  std::string text;
  for (const float value : values) text += (text.empty() ? "" : " ") + Decimal(value, digits);
  return text;
}

Result<LabSteps> MoeRouting(const MoeSetting& setting, ThreadPool& pool) {
  const Result<TinyExperts> experts = TinyExperts::Create(kRouter, kHidden, kExpertFfn, 1);
  if (!experts) return std::unexpected(experts.error());
  const auto route = [&](int top_k, RouterWeights weights) {
    return RouteToken({.experts = kExperts, .top_k = top_k, .weights = weights}, *experts,
                      setting.isa, pool);
  };
  const Result<RoutedToken> best = route(1, RouterWeights::kScores);
  if (!best) return std::unexpected(best.error());
  const Result<RoutedToken> renormalised = route(2, RouterWeights::kRenormalised);
  if (!renormalised) return std::unexpected(renormalised.error());
  const Result<RoutedToken> softmax = route(2, RouterWeights::kSoftmaxOfChosen);
  if (!softmax) return std::unexpected(softmax.error());
  return LabSteps{LinearLayer(*experts, *best, setting.isa, pool), Switch(*best),
                  Mixtral(*renormalised, *softmax)};
}

}  // namespace folio
