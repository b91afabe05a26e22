// One layer of a loaded model taken by itself, for the positions lab.
#ifndef FOLIO_APPS_FOLIO_LAB_POSITIONS_LAYER_H_
#define FOLIO_APPS_FOLIO_LAB_POSITIONS_LAYER_H_

#include <span>
#include <vector>

#include "base/error.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "model/config.h"
#include "model/positions/encoding.h"
#include "model/weights.h"
#include "text/tokenizer.h"

namespace folio {

struct LabModel {
  const ModelConfig& config;
  ModelWeights& weights;
  Isa isa;
  ThreadPool& pool;
};

// What the first layer's attention gives for the last of `tokens`, [hidden], with `encoding` in
// place of the model's own. Norms, products and rotations are the engine's; the softmax is a plain
// one over the keys in order, since the engine's kernel knows no biases.
Result<std::vector<float>> AttentionOutput(const LabModel& model, std::span<const TokenId> tokens,
                                           const PositionEncoding& encoding);

// Logits behind the last of `tokens` by the engine's own forward pass, with keys and values as f32.
Result<std::vector<float>> LastLogits(const LabModel& model, std::span<const TokenId> tokens);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_POSITIONS_LAYER_H_
