// Opens a model by its path, in whatever format it is.
#ifndef FOLIO_FORMATS_OPEN_MODEL_H_
#define FOLIO_FORMATS_OPEN_MODEL_H_

#include <string>

#include "base/error.h"
#include "formats/model_file.h"

namespace folio {

// A GGUF file (or the first of a split one), or a folder of Hugging Face's.
Result<ModelFile> OpenModelFile(const std::string& path);

}  // namespace folio

#endif  // FOLIO_FORMATS_OPEN_MODEL_H_
