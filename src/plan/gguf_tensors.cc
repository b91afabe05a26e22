#include "plan/gguf_tensors.h"

#include <string_view>

namespace folio {
namespace {

// "blk.3.ffn_up_exps.weight", or "blk.3.ffn_up.17.weight" of older files.
bool IsOfExperts(std::string_view name) {
  if (name.find("_exps.") != name.npos) return true;
  const std::size_t ffn = name.find(".ffn_");
  if (ffn == name.npos) return false;
  const std::size_t dot = name.find('.', ffn + 1);
  return dot != name.npos && dot + 1 < name.size() && name[dot + 1] >= '0' && name[dot + 1] <= '9';
}

}  // namespace

void CountTensors(const ModelFile& file, ModelShape& shape) {
  WeightShape weights;
  ParameterShape parameters{.experts = shape.experts, .top_k = shape.top_k};
  std::uint64_t experts = 0;
  std::uint64_t embedding_bytes = 0;
  for (const ModelTensor& tensor : file.tensors()) {
    const auto elements = static_cast<std::uint64_t>(tensor.elements);
    weights.all += tensor.bytes;
    if (IsOfExperts(tensor.name)) {
      experts += elements;
      weights.experts += tensor.bytes;
    } else if (tensor.name == "token_embd.weight") {
      parameters.embedding = elements;
      embedding_bytes = tensor.bytes;
    } else if (tensor.name == "per_layer_token_embd.weight") {
      parameters.tables = elements;
    } else {
      (tensor.name == "output.weight" ? parameters.output : parameters.layers) += elements;
      weights.always += tensor.bytes;
    }
  }
  if (parameters.output == 0) weights.always += embedding_bytes;
  if (shape.experts > 0) parameters.expert = experts / static_cast<std::uint64_t>(shape.experts);
  shape.parameters = parameters;
  shape.weights = weights;
}

}  // namespace folio
