// What the tensors of a safetensors file take, from its header alone.
#ifndef FOLIO_PLAN_FOLDER_WEIGHTS_H_
#define FOLIO_PLAN_FOLDER_WEIGHTS_H_

#include <string>

#include "base/error.h"
#include "formats/byte_source.h"
#include "plan/model_shape.h"

namespace folio {

// Adds the bytes of all its tensors. `has_output` is set where one is the output matrix, and the
// embedding's bytes are kept apart, since it depends on that whether a token reads them.
struct FolderWeights {
  WeightShape weights;
  std::uint64_t embedding_bytes = 0;
  bool has_output = false;
};
Status AddSafetensors(const std::string& path, const ByteSource& source, FolderWeights& sum);

}  // namespace folio

#endif  // FOLIO_PLAN_FOLDER_WEIGHTS_H_
