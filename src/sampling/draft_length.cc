#include "sampling/draft_length.h"

#include <algorithm>

namespace folio {
namespace {

constexpr double kWeight = 0.2;          // of one token's verdict in its kind's chance
constexpr double kForgiveness = 0.0025;  // of one match that is not used
constexpr double kLeastGain = 1.05;      // below it a draft is not worth its disturbance

}  // namespace

std::size_t DraftLength::Kind(int match) {
  if (match < 4) return 0;
  if (match < 8) return 1;
  return match < 16 ? 2 : 3;
}

int DraftLength::Choose(int match, double row_cost, int most) {
  ChanceOfKind& chance = chances_[Kind(match)];
  int best = 0;
  double best_gain = kLeastGain;
  double expected = 1;  // tokens of the step: the one that is always made, and those accepted
  double all_accepted = 1;
  for (int length = 1; length <= most; ++length) {
    all_accepted *= chance.now;
    expected += all_accepted;
    const double gain = expected / (1 + row_cost * length);
    if (gain > best_gain) {
      best_gain = gain;
      best = length;
    }
  }
  if (best == 0 && most > 0) chance.now += kForgiveness * (chance.prior - chance.now);
  return best;
}

void DraftLength::Note(int match, int proposed, int accepted) {
  double& chance = chances_[Kind(match)].now;
  for (int i = 0; i < accepted; ++i) chance += kWeight * (1 - chance);
  if (accepted < proposed) chance -= kWeight * chance;
  chance = std::clamp(chance, 0.01, 0.98);
}

}  // namespace folio
