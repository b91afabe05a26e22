// One GGUF file, be it a whole model or a part of a split one: header, metadata, tensor table.
#ifndef FOLIO_FORMATS_GGUF_FILE_H_
#define FOLIO_FORMATS_GGUF_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/gguf_metadata.h"

namespace folio {

struct GgufFile {
  std::uint32_t version = 0;
  Metadata metadata;
  std::vector<ModelTensor> tensors;
};

// Parses a file's bytes, which must outlive the result. `path` names the file in errors.
Result<GgufFile> ReadGgufFile(const std::string& path, std::span<const std::byte> bytes);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_FILE_H_
