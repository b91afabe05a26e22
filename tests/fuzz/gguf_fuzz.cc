// Any bytes as a GGUF file: refused with a whole error, or accepted with every tensor inside them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "formats/gguf.h"
#include "quant/dequantize.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Unpacks the tensor's first and last block, which reads its first and last bytes.
void TouchTensor(const folio::ModelTensor& tensor, std::span<const std::byte> file) {
  Require(tensor.data.size() == tensor.bytes);
  Require(tensor.offset <= file.size() && tensor.bytes <= file.size() - tensor.offset);
  Require(tensor.data.data() == file.data() + tensor.offset);
  const folio::GgmlTypeInfo& info = folio::TypeInfo(tensor.type);
  Require(tensor.bytes >= static_cast<std::size_t>(info.block_bytes));
  std::vector<float> values(static_cast<std::size_t>(info.block_elements));
  const std::byte* last = tensor.data.data() + tensor.bytes - info.block_bytes;
  folio::Dequantize(tensor.type, tensor.data.data(), info.block_elements, values.data());
  folio::Dequantize(tensor.type, last, info.block_elements, values.data());
}

// Asks for a key as every type there is: the right one answers, the others are errors.
void AskForKey(const folio::ModelFile& gguf, std::string_view key) {
  const int answers = gguf.GetUint(key).has_value() + gguf.GetFloat(key).has_value() +
                      gguf.GetBool(key).has_value() + gguf.GetString(key).has_value() +
                      gguf.GetStrings(key).has_value() + gguf.GetInts(key).has_value() +
                      gguf.GetFloats(key).has_value();
  Require(answers <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto gguf = folio::ParseGguf("fuzz.gguf", bytes);
  if (!gguf.has_value()) {
    Require(gguf.error().kind == folio::ErrorKind::kInput);
    Require(!gguf.error().where.empty() && !gguf.error().why.empty());
    Require(gguf.error().Message().find('\n') == std::string_view::npos);
    return 0;
  }
  for (const folio::ModelTensor& tensor : gguf->tensors()) {
    Require(gguf->FindTensor(tensor.name) == &tensor);
    TouchTensor(tensor, bytes);
  }
  for (const auto& [key, value] : gguf->metadata()) AskForKey(*gguf, key);
  return 0;
}
