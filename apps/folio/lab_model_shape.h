// The numbers of a model that a KV cache depends on, for labs that need no weights.
#ifndef FOLIO_APPS_FOLIO_LAB_MODEL_SHAPE_H_
#define FOLIO_APPS_FOLIO_LAB_MODEL_SHAPE_H_

#include <string>

#include "base/error.h"
#include "folio/lab.h"
#include "formats/model_file.h"
#include "kvcache/kv_spec.h"
#include "model/config.h"

namespace folio {

struct LabModelShape {
  std::string name;
  int query_heads = 0;
  KvSpec kv;

  const KvLayerSpec& layer() const { return kv.layers.front(); }
};

// The example of the text: Qwen3-8B, by its published configuration.
LabModelShape Qwen3_8B();

// A line that says why, for models with MLA: what labs say of heads' keys and values is not about
// them.
Status RefuseLatent(const ModelFile& file, const ModelConfig& config);

// Of --model, read from its metadata alone; Qwen3-8B without it.
Result<LabModelShape> ShapeOf(const LabArgs& args);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_MODEL_SHAPE_H_
