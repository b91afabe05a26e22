// Any bytes as a model folder: config.json, a NUL, tokenizer_config.json, a NUL, a safetensors
// file. Refused with a whole error, or read into a model whose configuration is refused or sound.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "formats/huggingface/folder.h"
#include "model/config.h"
#include "model/weights.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireWhole(const folio::Error& error) {
  Require(error.kind == folio::ErrorKind::kInput);
  Require(!error.why.empty());
  Require(error.Message().find('\n') == std::string_view::npos);
}

// What stands before the first NUL, which is taken too.
std::string_view TakeText(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view text = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  folio::FolderTexts texts{.config = TakeText(rest), .tokenizer = "{}"};
  texts.tokenizer_config = TakeText(rest);
  auto tensors = folio::ReadSafetensors("fuzz.safetensors",
                                        std::as_bytes(std::span(rest.data(), rest.size())));
  folio::Checkpoint checkpoint;
  checkpoint.files = {"fuzz.safetensors"};
  if (tensors) {
    for (folio::SafetensorsTensor& tensor : *tensors)
      checkpoint.tensors.push_back({std::move(tensor), 0});
  }
  const auto model = folio::ReadHuggingFaceFolder("fuzz", texts, std::move(checkpoint));
  if (!model) {
    RequireWhole(model.error());
    return 0;
  }
  for (const folio::ModelTensor& tensor : model->tensors())
    Require(model->FindTensor(tensor.name) == &tensor && tensor.data.size() == tensor.bytes);
  const auto config = folio::ReadModelConfig(*model);
  if (!config) {
    RequireWhole(config.error());
    return 0;
  }
  static_cast<void>(folio::MeasureWeights(*model, *config));
  return 0;
}
