// The JSON header of a safetensors file, as it stands there: {"NAME": {"dtype": "F32", "shape": [2,
// 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"KEY": "TEXT"}}.
#ifndef FOLIO_FORMATS_SAFETENSORS_HEADER_H_
#define FOLIO_FORMATS_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace folio {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  // two: begin and end in the data
};

// Parses the header's text. Accepted entries have their three members once each, two offsets and at
// most kMaxSafetensorsDims sizes; what the numbers mean is not checked here.
Result<std::vector<SafetensorsEntry>> ReadSafetensorsHeader(const std::string& path,
                                                            std::string_view text);

}  // namespace folio

#endif  // FOLIO_FORMATS_SAFETENSORS_HEADER_H_
