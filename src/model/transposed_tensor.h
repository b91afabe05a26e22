// Tensors that are made of a file's, where the engine needs them in another form.
#ifndef FOLIO_MODEL_TRANSPOSED_TENSOR_H_
#define FOLIO_MODEL_TRANSPOSED_TENSOR_H_

#include <cstdint>
#include <vector>

#include "formats/model_file.h"

namespace folio {

// The transpose [columns, rows] of rows [first_row, first_row + rows) of a matrix, as F32. Does not
// move, since others point to `tensor`.
class TransposedTensor {
 public:
  TransposedTensor(const ModelTensor& matrix, std::int64_t first_row, std::int64_t rows,
                   std::int64_t columns);
  TransposedTensor(const TransposedTensor&) = delete;
  TransposedTensor& operator=(const TransposedTensor&) = delete;

  // Its data is empty until Compute.
  const ModelTensor& tensor() const { return tensor_; }
  void Compute();

 private:
  const ModelTensor* matrix_;
  std::int64_t first_row_;
  std::int64_t rows_;
  std::int64_t columns_;
  ModelTensor tensor_;
  std::vector<float> values_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_TRANSPOSED_TENSOR_H_
