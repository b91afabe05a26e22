// What a step costs by its rows: seconds = base + rows * per_row, fitted to the latest steps.
#ifndef FOLIO_ENGINE_ROW_COST_H_
#define FOLIO_ENGINE_ROW_COST_H_

namespace folio {

class RowCost {
 public:
  // A step of a few rows took so long; steps of prompts are of another kind.
  void Note(double rows, double seconds);

  // What one row more costs in parts of a step of `rows` rows: kPrior until steps of different
  // sizes were seen.
  double RowShare(double rows) const;

  static constexpr double kPrior = 0.15;

 private:
  // Sums over the steps, older ones fading: of 1, rows, seconds, and their products.
  double n_ = 0;
  double x_ = 0;
  double y_ = 0;
  double xx_ = 0;
  double xy_ = 0;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_ROW_COST_H_
