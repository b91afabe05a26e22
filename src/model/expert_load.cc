#include "model/expert_load.h"

#include <cmath>

namespace folio {

ExpertLoad::ExpertLoad(int experts)
    : chosen_(static_cast<std::size_t>(experts)), score_sums_(chosen_.size()) {}

void ExpertLoad::Add(std::span<const RoutedExpert> chosen, std::span<const float> scores) {
  const std::size_t experts = chosen_.size();
  const std::size_t rows = scores.size() / experts;
  if (rows == 0) return;
  const std::size_t top_k = chosen.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const float> of_row = scores.subspan(row * experts, experts);
    if (std::isnan(of_row[0])) continue;
    ++tokens_;
    for (std::size_t i = 0; i < experts; ++i) score_sums_[i] += static_cast<double>(of_row[i]);
    for (const RoutedExpert& each : chosen.subspan(row * top_k, top_k)) {
      ++chosen_[static_cast<std::size_t>(each.expert)];
      ++choices_;
    }
  }
}

double ExpertLoad::Fraction(int expert) const {
  return choices_ == 0 ? 0 : static_cast<double>(chosen(expert)) / static_cast<double>(choices_);
}

double ExpertLoad::MeanScore(int expert) const {
  return tokens_ == 0
             ? 0
             : score_sums_[static_cast<std::size_t>(expert)] / static_cast<double>(tokens_);
}

double ExpertLoad::BalanceLoss() const {
  double sum = 0;
  for (int expert = 0; expert < experts(); ++expert) sum += Fraction(expert) * MeanScore(expert);
  return experts() * sum;
}

double ExpertLoad::Entropy() const {
  if (experts() < 2) return 1;
  double sum = 0;
  for (int expert = 0; expert < experts(); ++expert) {
    const double fraction = Fraction(expert);
    if (fraction > 0) sum -= fraction * std::log(fraction);
  }
  return sum / std::log(static_cast<double>(experts()));
}

}  // namespace folio
