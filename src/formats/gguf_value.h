// The value types of GGUF metadata.
#ifndef FOLIO_FORMATS_GGUF_VALUE_H_
#define FOLIO_FORMATS_GGUF_VALUE_H_

#include <cstdint>

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

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_VALUE_H_
