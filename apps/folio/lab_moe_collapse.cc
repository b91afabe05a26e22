// E7: the same small Mixture of Experts trained twice, without the balancing loss and with it.
#include <algorithm>
#include <utility>

#include "folio/lab_moe.h"
#include "folio/lab_moe_training.h"
#include "folio/text_table.h"

namespace folio {
namespace {

constexpr double kAlpha = 0.1;  // a few thousand small steps need more than Switch's 0.01
constexpr std::uint64_t kSeeds = 4;
constexpr std::uint64_t kShownSeed = 2;  // begins nearly even, and ends with one expert

const std::vector<std::int64_t>& Steps() {
  static const std::vector<std::int64_t> kSteps = {0, 30, 100, 300, 1000, 2000};
  return kSteps;
}

double Busiest(const TrainingLoss& loss) { return *std::ranges::max_element(loss.fractions); }

OutputJson RunJson(const std::vector<TrainingPoint>& points, double alpha) {
  OutputJson json = {{"alpha", alpha}, {"points", OutputJson::array()}};
  for (const TrainingPoint& point : points) {
    json["points"].push_back({{"step", point.step},
                              {"f", point.loss.fractions},
                              {"loss", point.loss.balance},
                              {"task_loss", point.loss.task}});
  }
  return json;
}

void AddRun(const std::vector<TrainingPoint>& points, double alpha, LabStep& step) {
  TextTable table("rrrrrrr");
  table.Add({"step", "f_1", "f_2", "f_3", "f_4", "E sum f_i P_i", "task loss"});
  for (const TrainingPoint& point : points) {
    std::vector<std::string> cells = {Grouped(point.step)};
    for (const double fraction : point.loss.fractions) cells.push_back(Decimal(fraction, 2));
    cells.push_back(Decimal(point.loss.balance, 2));
    cells.push_back(Decimal(point.loss.task, 3));
    table.Add(std::move(cells));
  }
  step.lines.push_back(alpha == 0
                           ? "seed " + std::to_string(kShownSeed) + ", without the balancing loss"
                           : "the same with it, alpha = " + Decimal(alpha, 1));
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  step.lines.emplace_back();
  step.facts["runs"].push_back(RunJson(points, alpha));
}

}  // namespace

LabStep MoeCollapse() {
  LabStep step{.id = "E7",
               .title = "collapse, and the loss against it: a small layer trained twice"};
  step.facts = {{"experts", kTrainingExperts},
                {"dims", kTrainingDims},
                {"seed", kShownSeed},
                {"runs", OutputJson::array()},
                {"seeds", OutputJson::array()}};
  TextTable table("lrrrr");
  table.Add({"at the end", "busiest", "task loss", "busiest, with", "task loss, with"});
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<TrainingPoint> without = TrainMoe(seed, 0, Steps());
    const std::vector<TrainingPoint> with = TrainMoe(seed, kAlpha, Steps());
    if (seed == kShownSeed) {
      AddRun(without, 0, step);
      AddRun(with, kAlpha, step);
    }
    const TrainingLoss& left = without.back().loss;
    const TrainingLoss& right = with.back().loss;
    table.Add({"seed " + std::to_string(seed), Decimal(Busiest(left), 2), Decimal(left.task, 3),
               Decimal(Busiest(right), 2), Decimal(right.task, 3)});
    step.facts["seeds"].push_back({{"seed", seed},
                                   {"busiest_without", Busiest(left)},
                                   {"busiest_with", Busiest(right)},
                                   {"task_loss_without", left.task},
                                   {"task_loss_with", right.task}});
  }
  for (std::string& line : table.Lines()) step.lines.push_back(std::move(line));
  step.lines.emplace_back(
      "Tokens of 8 clusters in 8 dimensions, a linear map a cluster to learn, 4 experts that are a "
      "matrix each, top-1, batches of 64, plain gradient descent; counted over 512 other tokens. "
      "The "
      "engine's router chooses and its ExpertLoad counts; the derivatives are the lab's. The "
      "expert "
      "that is ahead gets the tokens, so it gets better, so it gets more. What the loss evens out "
      "is also learned better: four matrices hold more than one.");
  return step;
}

}  // namespace folio
