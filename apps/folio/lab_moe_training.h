// A Mixture of Experts small enough to be trained in an instant, for what the text says of
// collapse: 8 clusters of tokens, each with a linear map of its own to learn, and 4 experts that
// are one matrix each. Top-1 as in Switch (Fedus et al. 2021), plain gradient descent.
#ifndef FOLIO_APPS_FOLIO_LAB_MOE_TRAINING_H_
#define FOLIO_APPS_FOLIO_LAB_MOE_TRAINING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace folio {

constexpr std::size_t kTrainingExperts = 4;
constexpr std::size_t kTrainingDims = 8;

struct TrainingModel {
  std::vector<double> router;   // [experts, dims]
  std::vector<double> experts;  // [experts, dims, dims]
};
TrainingModel MakeTrainingModel(std::uint64_t seed);

// Where the clusters are, and what is to be learned of each.
struct TrainingTask {
  std::uint64_t seed = 0;
  std::vector<double> centres;  // [clusters, dims]
  std::vector<double> maps;     // [clusters, dims, dims]
};
TrainingTask MakeTrainingTask(std::uint64_t seed);

struct TrainingBatch {
  std::vector<double> x;  // [tokens, dims]
  std::vector<double> y;  // [tokens, dims], what the layer ought to give
};
// Other tokens for every step, which is at least -1.
TrainingBatch DrawTrainingBatch(const TrainingTask& task, std::int64_t step, std::size_t tokens);

struct TrainingLoss {
  double task = 0;                // mean squared difference to y
  double balance = 0;             // E * sum of f_i P_i
  std::vector<double> fractions;  // f_i
};
// task + alpha * balance; its derivatives are added to `gradient`, of the model's shape, unless
// that is null.
TrainingLoss TrainingStep(const TrainingModel& model, const TrainingBatch& batch, double alpha,
                          TrainingModel* gradient);

struct TrainingPoint {
  std::int64_t step = 0;
  TrainingLoss loss;  // before the step, over a batch that no step learns from
};
// A point for each of `steps`, ascending.
std::vector<TrainingPoint> TrainMoe(std::uint64_t seed, double alpha,
                                    const std::vector<std::int64_t>& steps);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_MOE_TRAINING_H_
