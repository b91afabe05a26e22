#include "engine/row_cost.h"

#include <algorithm>

namespace folio {
namespace {

constexpr double kFade = 0.98;
// How much the fit holds to the prior: as a spread of rows of this variance would.
constexpr double kPriorVariance = 0.5;
constexpr double kLeastShare = 0.005;
constexpr double kMostShare = 1.0;  // rows cost no more than steps of their own

}  // namespace

void RowCost::Note(double rows, double seconds) {
  n_ = n_ * kFade + 1;
  x_ = x_ * kFade + rows;
  y_ = y_ * kFade + seconds;
  xx_ = xx_ * kFade + rows * rows;
  xy_ = xy_ * kFade + rows * seconds;
}

double RowCost::RowShare(double rows) const {
  if (n_ == 0) return kPrior;
  const double mean_x = x_ / n_;
  const double mean_y = y_ / n_;
  // A line through the means whose slope is drawn towards the prior's.
  const double prior = mean_y * kPrior / (1 + kPrior * (mean_x - 1));
  const double variance = xx_ / n_ - mean_x * mean_x;
  const double covariance = xy_ / n_ - mean_x * mean_y;
  const double slope = (covariance + kPriorVariance * prior) / (variance + kPriorVariance);
  const double step = mean_y + slope * (rows - mean_x);
  if (step <= 0) return kPrior;
  return std::clamp(slope / step, kLeastShare, kMostShare);
}

}  // namespace folio
