#include "model/weight_traffic.h"

#include <cmath>

namespace folio {
namespace {

double Bytes(const PackedMatrix& matrix) {
  return static_cast<double>(PackedBytes(matrix.type, matrix.n, matrix.k));
}

double Operations(const PackedMatrix& matrix) {
  return 2.0 * static_cast<double>(matrix.n) * static_cast<double>(matrix.k);
}

double ShareChosen(const RouterConfig& router, std::int64_t rows) {
  const double of_one = static_cast<double>(router.top_k) / router.experts;
  return 1.0 - std::pow(1.0 - of_one, static_cast<double>(rows));
}

// Sum of `of(matrix)` over the layers' matrices, those of experts times `expert_share`.
template <typename Of>
double SumOverLayers(const ModelWeights& weights, double expert_share, const Of& of) {
  double sum = 0;
  for (const LayerWeights& layer : weights.layers) {
    ForEachMatrix(layer, [&](const PackedMatrix& matrix) { sum += of(matrix); });
    for (const FfnWeights& expert : layer.moe.experts) {
      ForEachMatrix(expert, [&](const PackedMatrix& matrix) { sum += expert_share * of(matrix); });
    }
  }
  return sum;
}

}  // namespace

double WeightBytesOfAPass(const ModelWeights& weights, const RouterConfig& router,
                          std::int64_t rows) {
  const double share = router.experts == 0 ? 0 : ShareChosen(router, rows);
  return Bytes(weights.output) + SumOverLayers(weights, share, Bytes);
}

double OperationsOfARow(const ModelWeights& weights, const RouterConfig& router) {
  const double share = router.experts == 0 ? 0 : ShareChosen(router, 1);
  return SumOverLayers(weights, share, Operations);
}

double OperationsOfLogits(const ModelWeights& weights) { return Operations(weights.output); }

}  // namespace folio
