#include "formats/open_model.h"

#include <filesystem>

#include "formats/gguf.h"
#include "formats/huggingface/folder.h"

namespace folio {

Result<ModelFile> OpenModelFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? OpenHuggingFaceFolder(path) : OpenGguf(path);
}

}  // namespace folio
