// The tensor table of a GGUF file, and where each tensor's data lies.
#ifndef FOLIO_FORMATS_GGUF_TENSOR_TABLE_H_
#define FOLIO_FORMATS_GGUF_TENSOR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/byte_cursor.h"
#include "formats/model_file.h"

namespace folio {

inline constexpr std::uint64_t kMaxGgufTensors = 262'144;
inline constexpr std::uint64_t kMaxGgufTensorNameBytes = 256;  // the specification says 64
inline constexpr std::uint32_t kMaxGgufDims = 4;

// A file, or the first bytes of one.
struct GgufBytes {
  std::span<const std::byte> bytes;
  std::uint64_t file_bytes = 0;  // of the whole file
};

// Reads `count` entries at the cursor, which stands in `file.bytes`, and finds their data: it
// begins at the next multiple of `alignment` (a power of two) behind the table. Every tensor
// accepted lies wholly inside the file, at a multiple of `alignment`, and no two share a byte or a
// name. Of those that don't lie in `file.bytes`, `data` stays empty.
Result<std::vector<ModelTensor>> ReadGgufTensors(const std::string& path, const GgufBytes& file,
                                                 std::uint64_t count, std::uint64_t alignment,
                                                 ByteCursor& cursor);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_TENSOR_TABLE_H_
