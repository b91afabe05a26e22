// Reader of GGUF model files, versions 2 and 3 (specification: ggml's docs/gguf.md). The file is
// untrusted input: every count, offset, length and product is checked before use, and an error
// names the file, the field and the value.
#ifndef FOLIO_FORMATS_GGUF_H_
#define FOLIO_FORMATS_GGUF_H_

#include <cstddef>
#include <span>
#include <string>

#include "base/error.h"
#include "formats/model_file.h"

namespace folio {

// Opens a model: one file, or all files of a split one (-00001-of-0000N), opened by naming the
// first.
Result<ModelFile> OpenGguf(const std::string& path);

// Parses one file's bytes, for tests and the fuzzer; `name` stands for the path in errors. `bytes`
// must outlive it. Of a split model it gives what this file alone has.
Result<ModelFile> ParseGguf(const std::string& name, std::span<const std::byte> bytes);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_H_
