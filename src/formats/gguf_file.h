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
#include "formats/gguf_tensor_table.h"

namespace folio {

struct GgufFile {
  std::uint32_t version = 0;
  Metadata metadata;
  std::vector<ModelTensor> tensors;
};

// Parses a file's bytes, which must outlive the result. `path` names the file in errors.
Result<GgufFile> ReadGgufFile(const std::string& path, std::span<const std::byte> bytes);

// The same of a file's first bytes, without long arrays (GgufArrays::kShortNumbers). After an
// error, `ran_out` tells that more bytes may mend it.
Result<GgufFile> ReadGgufPrefix(const std::string& path, const GgufBytes& file, bool& ran_out);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_FILE_H_
