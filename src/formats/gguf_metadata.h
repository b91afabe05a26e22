// The metadata section of a GGUF file: key-value pairs that follow the header.
#ifndef FOLIO_FORMATS_GGUF_METADATA_H_
#define FOLIO_FORMATS_GGUF_METADATA_H_

#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "formats/byte_cursor.h"
#include "formats/model_file.h"

namespace folio {

// Bounds on what one file may make the reader allocate, far above what model files hold (some 60
// keys, a vocabulary of 262,144 tokens, 514,906 merges).
inline constexpr std::uint64_t kMaxGgufKeys = 65'536;
inline constexpr std::uint64_t kMaxGgufKeyBytes = 1'024;
inline constexpr std::uint64_t kMaxGgufArrayElements = 16'777'216;  // all arrays of a file together

// A length and the text itself, not checked further. `where` names the field in the error.
Result<std::string_view> ReadGgufString(const std::string& path, const std::string& where,
                                        ByteCursor& cursor);

// Keys and tensor names: printable ASCII, at least one character.
bool IsGgufName(std::string_view name);

// Which arrays are kept. What describes a model has a number a layer at most; a tokenizer's have
// one a token, and of these a header's reader has no use.
enum class GgufArrays : std::uint8_t { kAll, kShortNumbers };
inline constexpr std::uint64_t kMostShortNumbers = 4'096;

// Reads `count` pairs and leaves the cursor behind them. `path` names the file in errors. Strings
// are UTF-8 (checked) and views into the cursor's bytes. Keys of arrays that are not kept are left
// out.
Result<Metadata> ReadGgufMetadata(const std::string& path, std::uint64_t count, GgufArrays arrays,
                                  ByteCursor& cursor);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_METADATA_H_
