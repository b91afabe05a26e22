#include "model/expect_tensor.h"

namespace folio {
namespace {

std::string Shape(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

}  // namespace

Result<const ModelTensor*> ExpectTensor(const ModelFile& file, const std::string& name,
                                        const std::vector<std::int64_t>& dims) {
  const ModelTensor* tensor = file.FindTensor(name);
  if (tensor == nullptr) return InputError(file.path(), name, "tensor is missing");
  if (tensor->dims != dims) {
    return InputError(file.path(), file.SourceName(name),
                      "has shape " + Shape(tensor->dims) + ", must have " + Shape(dims));
  }
  return tensor;
}

}  // namespace folio
