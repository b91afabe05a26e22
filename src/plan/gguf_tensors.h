// What the tensors of a GGUF file add up to.
#ifndef FOLIO_PLAN_GGUF_TENSORS_H_
#define FOLIO_PLAN_GGUF_TENSORS_H_

#include "formats/model_file.h"
#include "plan/model_shape.h"

namespace folio {

// Sets `parameters` and `weights`, exactly; shape.experts and shape.top_k are known.
void CountTensors(const ModelFile& file, ModelShape& shape);

}  // namespace folio

#endif  // FOLIO_PLAN_GGUF_TENSORS_H_
