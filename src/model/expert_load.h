// How evenly a router spreads its tokens: the quantities of the load-balancing loss (Shazeer et al.
// 2017; Fedus et al. 2021, equations 4 to 6), counted on the running model.
#ifndef FOLIO_MODEL_EXPERT_LOAD_H_
#define FOLIO_MODEL_EXPERT_LOAD_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/moe_router.h"

namespace folio {

// Of one layer, since it was made.
class ExpertLoad {
 public:
  explicit ExpertLoad(int experts);

  // chosen: [rows, top_k]; scores: [rows, experts]. Rows whose scores are no numbers are left out.
  void Add(std::span<const RoutedExpert> chosen, std::span<const float> scores);

  int experts() const { return static_cast<int>(chosen_.size()); }
  std::int64_t tokens() const { return tokens_; }
  // Times that the expert was chosen.
  std::int64_t chosen(int expert) const { return chosen_[static_cast<std::size_t>(expert)]; }

  // f_i: of all choices, the share that fell on the expert; 0 before the first token. They add up
  // to 1.
  double Fraction(int expert) const;
  // P_i: the expert's mean score.
  double MeanScore(int expert) const;
  // E * sum of f_i P_i: 1 where all experts are chosen alike, E where one gets everything (for
  // scores that add up to 1).
  double BalanceLoss() const;
  // Of the f_i, as a share of log E: 1 where all are equal, 0 where one gets everything.
  double Entropy() const;

 private:
  std::int64_t tokens_ = 0;
  std::int64_t choices_ = 0;
  std::vector<std::int64_t> chosen_;
  std::vector<double> score_sums_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_EXPERT_LOAD_H_
