// A model's shape from the keys of a GGUF file that all architectures share.
#ifndef FOLIO_PLAN_GGUF_KEYS_H_
#define FOLIO_PLAN_GGUF_KEYS_H_

#include "base/error.h"
#include "formats/model_file.h"
#include "plan/model_shape.h"

namespace folio {

// For any of GgufArchitectures(); another is an input error.
Result<ModelShape> ReadGgufShapeByKeys(const ModelFile& file);

}  // namespace folio

#endif  // FOLIO_PLAN_GGUF_KEYS_H_
