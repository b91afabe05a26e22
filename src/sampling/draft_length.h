// How many tokens to propose: as many as make most tokens a second, by what was accepted so far and
// by what a row more costs.
#ifndef FOLIO_SAMPLING_DRAFT_LENGTH_H_
#define FOLIO_SAMPLING_DRAFT_LENGTH_H_

#include <array>

namespace folio {

class DraftLength {
 public:
  // `match`: tokens of the text that agree with the earlier place, see NgramMatch. `row_cost`: what
  // one row more costs, in parts of the step without it. At most `most` tokens, 0 where none pays.
  // A match that is not used counts a little in favour of its kind: what once failed is tried again
  // at long intervals.
  int Choose(int match, double row_cost, int most);

  // What came of a draft: `accepted` of `proposed` tokens.
  void Note(int match, int proposed, int accepted);

  // The chance that the next token of such a match is accepted.
  double Chance(int match) const { return chances_[Kind(match)].now; }

 private:
  // Longer matches are more often right: each kind is counted by itself.
  static constexpr int kKinds = 4;
  struct ChanceOfKind {
    double prior;
    double now;
  };
  static std::size_t Kind(int match);

  std::array<ChanceOfKind, kKinds> chances_ = {
      {{.prior = 0.4, .now = 0.4}, {0.7, 0.7}, {0.9, 0.9}, {0.96, 0.96}}};
};

}  // namespace folio

#endif  // FOLIO_SAMPLING_DRAFT_LENGTH_H_
