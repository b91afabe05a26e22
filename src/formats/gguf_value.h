// The value types of GGUF metadata: their ids, names, and how a value is shown in an error.
#ifndef FOLIO_FORMATS_GGUF_VALUE_H_
#define FOLIO_FORMATS_GGUF_VALUE_H_

#include <cstdint>
#include <string>

#include "formats/gguf.h"

namespace folio {

// Values are the ids in the file (gguf_metadata_value_type of the specification).
enum class GgufValueType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// Text of a file in quotes for an error: cut to some 40 bytes, at a character; escaped if it is not
// UTF-8.
std::string QuotedExcerpt(std::string_view text);

// The value with its type, short enough for an error: `the string "abc"`, `an array of 3 strings`.
std::string DescribeGgufValue(const GgufValue& value);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_VALUE_H_
