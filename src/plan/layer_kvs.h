// Where each layer's keys and values lie: kernels' views of a KV layout.
#ifndef FOLIO_PLAN_LAYER_KVS_H_
#define FOLIO_PLAN_LAYER_KVS_H_

#include <cstddef>
#include <vector>

#include "kvcache/kv_sizing.h"
#include "model/config.h"
#include "model/forward.h"

namespace folio {

// One a layer of the model. `base`: of the blocks' memory; null where only sizes are asked for.
std::vector<LayerKv> LayerKvs(const KvLayout& layout, const ModelConfig& config, std::byte* base);

}  // namespace folio

#endif  // FOLIO_PLAN_LAYER_KVS_H_
