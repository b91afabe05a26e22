// The shape of the model that a path names: a GGUF file (or the first of a split one), a folder of
// Hugging Face's, or a bare config.json. Only headers are read; nothing is mapped.
#ifndef FOLIO_PLAN_READ_SHAPE_H_
#define FOLIO_PLAN_READ_SHAPE_H_

#include <string>

#include "base/error.h"
#include "formats/byte_source.h"
#include "plan/model_shape.h"

namespace folio {

Result<ModelShape> ReadModelShape(const std::string& path);

// A folder's shape from its config.json, and its weights' bytes from the headers of its safetensors
// files where there are any. `folder` precedes the files' names; `open` opens them.
Result<ModelShape> ReadFolderShape(const std::string& folder, const OpenBytes& open);

}  // namespace folio

#endif  // FOLIO_PLAN_READ_SHAPE_H_
