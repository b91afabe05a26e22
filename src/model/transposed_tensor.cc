#include "model/transposed_tensor.h"

#include <cstddef>
#include <span>

#include "kernels/product.h"
#include "quant/dequantize.h"

namespace folio {

TransposedTensor::TransposedTensor(const ModelTensor& matrix, std::int64_t first_row,
                                   std::int64_t rows, std::int64_t columns)
    : matrix_(&matrix), first_row_(first_row), rows_(rows), columns_(columns) {
  tensor_.name = matrix.name;
  tensor_.dims = {rows, columns};
  tensor_.elements = rows * columns;
  tensor_.bytes = static_cast<std::size_t>(tensor_.elements) * sizeof(float);
  tensor_.file = -1;
}

void TransposedTensor::Compute() {
  const std::int64_t row_bytes = FileRowBytes(matrix_->type, columns_);
  std::vector<float> row(static_cast<std::size_t>(columns_));
  values_.resize(static_cast<std::size_t>(tensor_.elements));
  for (std::int64_t r = 0; r < rows_; ++r) {
    Dequantize(matrix_->type, matrix_->data.data() + (first_row_ + r) * row_bytes, columns_,
               row.data());
    for (std::int64_t c = 0; c < columns_; ++c)
      values_[static_cast<std::size_t>(c * rows_ + r)] = row[static_cast<std::size_t>(c)];
  }
  tensor_.data = std::as_bytes(std::span(values_));
}

}  // namespace folio
