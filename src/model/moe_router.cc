#include "model/moe_router.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/exp.h"

namespace folio {
namespace {

constexpr float kExcluded = -std::numeric_limits<float>::infinity();
// Keeps the sum of sigmoids that are all 0 from dividing by it (DeepSeek-V3's own constant).
constexpr float kSmallestSum = 1e-20F;

float Sigmoid(float x) { return 1.0F / (1.0F + Exp(-x)); }

// exp(x - max) / sum, the sum in the order of indices.
void Softmax(std::span<const float> logits, std::span<float> out) {
  const float largest = *std::ranges::max_element(logits);
  float sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out[i] = Exp(logits[i] - largest);
    sum += out[i];
  }
  for (float& value : out) value /= sum;
}

void Score(RouterScores kind, std::span<const float> logits, std::span<float> scores) {
  if (kind == RouterScores::kSoftmax) {
    Softmax(logits, scores);
  } else {
    std::ranges::transform(logits, scores.begin(), Sigmoid);
  }
}

// The `chosen.size()` largest of `values`, best first, equal ones in the order of indices.
void TopK(std::span<const float> values, std::span<RoutedExpert> chosen) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (found == chosen.size() && values[i] <= chosen[found - 1].weight) continue;
    std::size_t at = found < chosen.size() ? found++ : found - 1;
    for (; at > 0 && chosen[at - 1].weight < values[i]; --at) chosen[at] = chosen[at - 1];
    chosen[at] = {.expert = static_cast<std::int32_t>(i), .weight = values[i]};
  }
}

float SumOfBest(std::span<const float> values, int count) {
  std::array<RoutedExpert, kMostExpertsPerToken> best;
  const std::span<RoutedExpert> wanted =
      std::span(best).first(std::min<std::size_t>(static_cast<std::size_t>(count), values.size()));
  TopK(values, wanted);
  float sum = 0;
  for (const RoutedExpert& each : wanted) sum += each.weight;
  return sum;
}

// Makes the experts outside the best groups impossible to choose.
void KeepBestGroups(const RouterConfig& config, std::span<float> choice) {
  const std::size_t groups = static_cast<std::size_t>(config.groups);
  const std::size_t size = choice.size() / groups;
  std::array<float, kMostExperts> values;
  for (std::size_t group = 0; group < groups; ++group)
    values[group] = SumOfBest(choice.subspan(group * size, size), config.group_best);
  std::array<RoutedExpert, kMostExpertsPerToken> best;
  const auto kept = std::span(best).first(static_cast<std::size_t>(config.top_groups));
  TopK(std::span(values).first(groups), kept);
  for (std::size_t group = 0; group < groups; ++group) {
    const bool is_kept = std::ranges::any_of(
        kept, [&](const RoutedExpert& each) { return each.expert == static_cast<int>(group); });
    if (!is_kept) std::ranges::fill(choice.subspan(group * size, size), kExcluded);
  }
}

void Weigh(const RouterConfig& config, std::span<const float> logits, std::span<const float> scores,
           std::span<RoutedExpert> chosen) {
  if (config.weights == RouterWeights::kSoftmaxOfChosen) {
    std::array<float, kMostExpertsPerToken> of_chosen;
    const auto values = std::span(of_chosen).first(chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i)
      values[i] = logits[static_cast<std::size_t>(chosen[i].expert)];
    Softmax(values, values);
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i].weight = values[i];
  } else {
    float sum = 0;
    for (RoutedExpert& each : chosen) {
      each.weight = scores[static_cast<std::size_t>(each.expert)];
      sum += each.weight;
    }
    if (config.scores == RouterScores::kSigmoid) sum += kSmallestSum;
    if (config.weights == RouterWeights::kRenormalised)
      for (RoutedExpert& each : chosen) each.weight /= sum;
  }
  if (config.scale != 1.0F)
    for (RoutedExpert& each : chosen) each.weight *= config.scale;
}

bool RouteNowhere(std::span<float> scores, std::span<RoutedExpert> chosen) {
  std::ranges::fill(scores, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    chosen[i] = {.expert = static_cast<std::int32_t>(i),
                 .weight = std::numeric_limits<float>::quiet_NaN()};
  }
  return false;
}

}  // namespace

bool Route(const RouterConfig& config, const float* logits, const float* bias, float* scores,
           std::span<RoutedExpert> chosen) {
  const auto experts = static_cast<std::size_t>(config.experts);
  const std::span all(logits, experts);
  const std::span scored(scores, experts);
  if (!std::ranges::all_of(all, [](float logit) { return std::isfinite(logit); }))
    return RouteNowhere(scored, chosen);
  Score(config.scores, all, scored);
  // Without a bias the logits have the same order, and no ties that rounding made.
  std::array<float, kMostExperts> values;
  const auto choice = std::span(values).first(experts);
  std::ranges::copy(bias == nullptr && config.groups == 1 ? all : std::span<const float>(scored),
                    choice.begin());
  if (bias != nullptr)
    for (std::size_t i = 0; i < experts; ++i) choice[i] += bias[i];
  if (config.groups > 1) KeepBestGroups(config, choice);
  TopK(choice, chosen);
  Weigh(config, all, scored, chosen);
  return true;
}

}  // namespace folio
