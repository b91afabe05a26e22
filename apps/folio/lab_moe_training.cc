#include "folio/lab_moe_training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "folio/lab_moe_layer.h"
#include "model/expert_load.h"
#include "model/moe_router.h"
#include "sampling/counter_rng.h"

namespace folio {
namespace {

constexpr std::size_t kE = kTrainingExperts;
constexpr std::size_t kD = kTrainingDims;
constexpr std::size_t kClusters = 8;
constexpr std::size_t kBatch = 64;
constexpr std::size_t kTestBatch = 512;
constexpr std::int64_t kTestStep = -1;
constexpr double kSpread = 0.3;  // of a cluster's tokens about its centre
constexpr double kCommon = 1.0;  // a part that all tokens share, as activations do
constexpr double kRouterStart = 0.05;
constexpr double kExpertStart = 0.1;
constexpr double kRouterRate = 0.05;
constexpr double kExpertRate = 0.4;

// Streams of random numbers; those of the batches follow, two for each step, the test's first.
enum Stream : std::uint32_t { kCentres, kMaps, kRouterStream, kExpertStream, kFirstBatch };

std::vector<double> Normal(std::size_t count, std::uint64_t seed, std::uint32_t stream,
                           double deviation) {
  std::vector<double> values;
  for (const float value : NormalValues(count, seed, stream))
    values.push_back(deviation * double{value});
  return values;
}

// out = M x, M: [dims, dims]
void Apply(const double* matrix, const double* x, double* out) {
  for (std::size_t row = 0; row < kD; ++row) {
    out[row] = 0;
    for (std::size_t i = 0; i < kD; ++i) out[row] += matrix[row * kD + i] * x[i];
  }
}

struct TokenRoute {
  std::array<double, kE> probabilities;
  std::size_t expert = 0;
};

// The engine's router chooses; the probabilities are float64, for derivatives.
TokenRoute RouteToken(const TrainingModel& model, const double* x, ExpertLoad& load) {
  TokenRoute route;
  std::array<float, kE> logits;
  for (std::size_t expert = 0; expert < kE; ++expert) {
    double sum = 0;
    for (std::size_t i = 0; i < kD; ++i) sum += model.router[expert * kD + i] * x[i];
    route.probabilities[expert] = sum;
    logits[expert] = static_cast<float>(sum);
  }
  const double largest = *std::ranges::max_element(route.probabilities);
  double sum = 0;
  for (double& value : route.probabilities) sum += value = std::exp(value - largest);
  for (double& value : route.probabilities) value /= sum;
  std::array<float, kE> scores;
  RoutedExpert chosen;
  Route({.experts = static_cast<int>(kE), .top_k = 1, .weights = RouterWeights::kScores},
        logits.data(), nullptr, scores.data(), {&chosen, 1});
  load.Add({&chosen, 1}, scores);
  route.expert = static_cast<std::size_t>(chosen.expert);
  return route;
}

// d(loss)/d(logits) from d(loss)/d(probabilities), and from there the router's rows.
void AddRouterGradient(const TokenRoute& route, const std::array<double, kE>& by_probability,
                       const double* x, std::vector<double>& router) {
  double mean = 0;
  for (std::size_t i = 0; i < kE; ++i) mean += by_probability[i] * route.probabilities[i];
  for (std::size_t expert = 0; expert < kE; ++expert) {
    const double by_logit = route.probabilities[expert] * (by_probability[expert] - mean);
    for (std::size_t i = 0; i < kD; ++i) router[expert * kD + i] += by_logit * x[i];
  }
}

void Descend(const std::vector<double>& gradient, double rate, std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= rate * gradient[i];
}

}  // namespace

TrainingModel MakeTrainingModel(std::uint64_t seed) {
  return {.router = Normal(kE * kD, seed, kRouterStream, kRouterStart),
          .experts = Normal(kE * kD * kD, seed, kExpertStream, kExpertStart)};
}

TrainingTask MakeTrainingTask(std::uint64_t seed) {
  TrainingTask task{.seed = seed, .centres = Normal(kClusters * kD, seed, kCentres, 1)};
  for (double& value : task.centres) value += kCommon;
  task.maps = Normal(kClusters * kD * kD, seed, kMaps, 1 / std::sqrt(static_cast<double>(kD)));
  return task;
}

TrainingBatch DrawTrainingBatch(const TrainingTask& task, std::int64_t step, std::size_t tokens) {
  const auto stream = static_cast<std::uint32_t>(kFirstBatch + 2 * (step + 1));
  TrainingBatch batch{.x = Normal(tokens * kD, task.seed, stream, kSpread),
                      .y = std::vector<double>(tokens * kD)};
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto cluster = static_cast<std::size_t>(
        static_cast<double>(kClusters) *
        UniformAt(task.seed, stream + 1, static_cast<std::int64_t>(token)));
    double* const x = batch.x.data() + token * kD;
    for (std::size_t i = 0; i < kD; ++i) x[i] += task.centres[cluster * kD + i];
    Apply(task.maps.data() + cluster * kD * kD, x, batch.y.data() + token * kD);
  }
  return batch;
}

TrainingLoss TrainingStep(const TrainingModel& model, const TrainingBatch& batch, double alpha,
                          TrainingModel* gradient) {
  const std::size_t tokens = batch.x.size() / kD;
  const double scale = 1 / static_cast<double>(tokens * kD);
  ExpertLoad load(static_cast<int>(kE));
  std::vector<TokenRoute> routes;
  for (std::size_t token = 0; token < tokens; ++token)
    routes.push_back(RouteToken(model, batch.x.data() + token * kD, load));
  TrainingLoss loss;
  for (std::size_t expert = 0; expert < kE; ++expert)
    loss.fractions.push_back(load.Fraction(static_cast<int>(expert)));
  for (std::size_t token = 0; token < tokens; ++token) {
    const double* const x = batch.x.data() + token * kD;
    const TokenRoute& route = routes[token];
    const double weight = route.probabilities[route.expert];
    std::array<double, kD> output;
    Apply(model.experts.data() + route.expert * kD * kD, x, output.data());
    // Through P_i alone: f_i counts.
    std::array<double, kE> by_probability;
    for (std::size_t i = 0; i < kE; ++i) {
      const double share =
          static_cast<double>(kE) * loss.fractions[i] / static_cast<double>(tokens);
      loss.balance += share * route.probabilities[i];
      by_probability[i] = alpha * share;
    }
    for (std::size_t row = 0; row < kD; ++row) {
      const double error = weight * output[row] - batch.y[token * kD + row];
      loss.task += scale * error * error;
      by_probability[route.expert] += 2 * scale * error * output[row];
      if (gradient == nullptr) continue;
      double* const of_row = gradient->experts.data() + (route.expert * kD + row) * kD;
      for (std::size_t i = 0; i < kD; ++i) of_row[i] += 2 * scale * error * weight * x[i];
    }
    if (gradient != nullptr) AddRouterGradient(route, by_probability, x, gradient->router);
  }
  return loss;
}

std::vector<TrainingPoint> TrainMoe(std::uint64_t seed, double alpha,
                                    const std::vector<std::int64_t>& steps) {
  const TrainingTask task = MakeTrainingTask(seed);
  TrainingModel model = MakeTrainingModel(seed);
  const TrainingBatch test = DrawTrainingBatch(task, kTestStep, kTestBatch);
  std::vector<TrainingPoint> points;
  for (std::int64_t step = 0; points.size() < steps.size(); ++step) {
    if (step == steps[points.size()])
      points.push_back({.step = step, .loss = TrainingStep(model, test, alpha, nullptr)});
    TrainingModel gradient{.router = std::vector<double>(model.router.size()),
                           .experts = std::vector<double>(model.experts.size())};
    TrainingStep(model, DrawTrainingBatch(task, step, kBatch), alpha, &gradient);
    Descend(gradient.router, kRouterRate, model.router);
    Descend(gradient.experts, kExpertRate, model.experts);
  }
  return points;
}

}  // namespace folio
