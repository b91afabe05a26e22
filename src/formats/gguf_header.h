// What a GGUF file says about its model, without the model: metadata but for long arrays, and the
// table of tensors. Only a file's first bytes are read, as many as these take.
#ifndef FOLIO_FORMATS_GGUF_HEADER_H_
#define FOLIO_FORMATS_GGUF_HEADER_H_

#include <cstdint>
#include <string>

#include "base/error.h"
#include "formats/byte_source.h"
#include "formats/model_file.h"

namespace folio {

// More than this is no header: a vocabulary of 262,144 tokens and its merges take 12 MB.
inline constexpr std::uint64_t kMostGgufHeaderBytes = std::uint64_t{96} << 20;

// One file, or all files of a split one by the first of them. As OpenGguf, but tensors have no data
// (ModelTensor::data is empty), except for the few small ones that a configuration depends on: the
// factors of rotary embeddings. Strings in arrays, and arrays of more than kMostShortNumbers
// numbers, are not there.
Result<ModelFile> OpenGgufHeader(const std::string& path, const OpenBytes& open = OpenFileBytes);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_HEADER_H_
