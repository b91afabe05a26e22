// Reader of safetensors files (format: the `safetensors` crate's README): eight bytes with the
// header's length, a JSON header, the tensors' bytes. The file is untrusted input: the header is
// walked without building it, every number is checked before use, and an error names the file, the
// field and the value. As the format demands, the tensors fill the data without overlap or hole.
#ifndef FOLIO_FORMATS_SAFETENSORS_H_
#define FOLIO_FORMATS_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "quant/ggml_type.h"

namespace folio {

// The format's own bound.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::size_t kMaxSafetensorsTensors = 262'144;
inline constexpr std::size_t kMaxSafetensorsNameBytes = 256;
inline constexpr std::size_t kMaxSafetensorsDims = 8;

struct SafetensorsTensor {
  std::string name;                 // printable ASCII
  std::string_view dtype;           // "BF16"
  std::optional<GgmlType> type;     // nothing: the format has it, but no product takes it
  std::vector<std::int64_t> shape;  // slowest first: a weight matrix [n, k]
  std::int64_t elements = 0;
  std::uint64_t offset = 0;  // of the data, from the file's start
  std::span<const std::byte> data;
};

// The tensors of a file's bytes, which must outlive them, in the order of their data. `path` names
// the file in errors. Data may lie at any address: nothing in the format aligns it.
Result<std::vector<SafetensorsTensor>> ReadSafetensors(const std::string& path,
                                                       std::span<const std::byte> file);

}  // namespace folio

#endif  // FOLIO_FORMATS_SAFETENSORS_H_
