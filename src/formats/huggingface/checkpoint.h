// The tensors of a model folder: model.safetensors, or the files that model.safetensors.index.json
// lists.
#ifndef FOLIO_FORMATS_HUGGINGFACE_CHECKPOINT_H_
#define FOLIO_FORMATS_HUGGINGFACE_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/mapped_file.h"
#include "formats/safetensors.h"

namespace folio {

struct CheckpointTensor {
  SafetensorsTensor tensor;
  int file = 0;  // index into `files`
};

struct Checkpoint {
  std::vector<std::string> files;
  std::vector<std::shared_ptr<MappedFile>> mappings;  // one a file
  std::uint64_t bytes = 0;                            // of all files
  std::vector<CheckpointTensor> tensors;              // no two of one name
};

// A folder with neither file, a file that the index lists and that is not there, and a tensor that
// is not in the file where the index says it is are input errors.
Result<Checkpoint> OpenCheckpoint(const std::string& folder);

// The index's weight_map: tensor name -> file name, a plain name without a folder.
Result<std::map<std::string, std::string, std::less<>>> ReadCheckpointIndex(const std::string& path,
                                                                            std::string_view text);

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_CHECKPOINT_H_
