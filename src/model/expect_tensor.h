// Finds a tensor and makes sure of its shape.
#ifndef FOLIO_MODEL_EXPECT_TENSOR_H_
#define FOLIO_MODEL_EXPECT_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/model_file.h"

namespace folio {

// The tensor if it has exactly `dims` (GGUF's order, fastest first); else an input error that names
// it and both shapes.
Result<const ModelTensor*> ExpectTensor(const ModelFile& file, const std::string& name,
                                        const std::vector<std::int64_t>& dims);

}  // namespace folio

#endif  // FOLIO_MODEL_EXPECT_TENSOR_H_
