#include "formats/open_model.h"

#include "formats/gguf.h"

namespace folio {

Result<ModelFile> OpenModelFile(const std::string& path) { return OpenGguf(path); }

}  // namespace folio
