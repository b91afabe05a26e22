// Any bytes as a safetensors file: refused with a whole error, or accepted with every tensor inside
// them and none upon another.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "formats/safetensors.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto tensors = folio::ReadSafetensors("fuzz.safetensors", bytes);
  if (!tensors.has_value()) {
    Require(tensors.error().kind == folio::ErrorKind::kInput);
    Require(!tensors.error().where.empty() && !tensors.error().why.empty());
    Require(tensors.error().Message().find('\n') == std::string_view::npos);
    return 0;
  }
  std::uint64_t end = 0;
  for (const folio::SafetensorsTensor& tensor : *tensors) {
    Require(end == 0 || tensor.offset == end);
    Require(tensor.offset <= size && tensor.data.size() <= size - tensor.offset);
    Require(tensor.data.data() == bytes.data() + tensor.offset);
    std::int64_t elements = 1;
    for (const std::int64_t dim : tensor.shape) elements *= dim;
    Require(elements == tensor.elements);
    end = tensor.offset + tensor.data.size();
  }
  Require(tensors->empty() || end == size);
  return 0;
}
