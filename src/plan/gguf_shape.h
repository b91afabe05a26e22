// A model's shape from the header of a GGUF file. Of an architecture that Folio runs, it is the
// engine's own configuration; of others, what the keys say that all architectures share.
#ifndef FOLIO_PLAN_GGUF_SHAPE_H_
#define FOLIO_PLAN_GGUF_SHAPE_H_

#include "base/error.h"
#include "formats/model_file.h"
#include "plan/model_shape.h"

namespace folio {

// An architecture that is known neither to the engine nor here is an input error.
Result<ModelShape> ReadGgufShape(const ModelFile& file);

}  // namespace folio

#endif  // FOLIO_PLAN_GGUF_SHAPE_H_
