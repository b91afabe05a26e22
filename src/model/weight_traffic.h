// What a forward pass reads of the weights and computes with them: the figures that a measured
// speed is compared with.
#ifndef FOLIO_MODEL_WEIGHT_TRAFFIC_H_
#define FOLIO_MODEL_WEIGHT_TRAFFIC_H_

#include <cstdint>

#include "model/moe_router.h"
#include "model/weights.h"

namespace folio {

// Bytes of weights that a pass of `rows` rows reads: all matrices but the embedding, of which only
// single rows are read unless it is also the output. Of the experts, those that so many rows
// choose: exactly top_k for one row; for more, what is to be expected where all are chosen alike,
// E (1 - (1 - top_k / E)^rows).
double WeightBytesOfAPass(const ModelWeights& weights, const RouterConfig& router,
                          std::int64_t rows);

// Operations (a multiplication and an addition for each weight) of one row in all layers. The
// vocabulary's matrix is not counted: only a prompt's last row meets it.
double OperationsOfARow(const ModelWeights& weights, const RouterConfig& router);
double OperationsOfLogits(const ModelWeights& weights);

}  // namespace folio

#endif  // FOLIO_MODEL_WEIGHT_TRAFFIC_H_
