// The files of a GGUF model, put together one after another.
#ifndef FOLIO_FORMATS_GGUF_ASSEMBLY_H_
#define FOLIO_FORMATS_GGUF_ASSEMBLY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf_file.h"
#include "formats/model_file.h"

namespace folio {

class GgufAssembly {
 public:
  Status AddFirst(const std::string& path, GgufFile file, std::uint64_t file_bytes);
  // File `index` (from 1) of a split model.
  Status AddPart(const std::string& path, GgufFile file, std::uint64_t file_bytes,
                 std::uint32_t index);
  // Calls `add` with path and index of each file behind the first, and checks that nothing is
  // missing then.
  Status AddOthers(const std::string& first,
                   const std::function<Status(const std::string& path, std::uint32_t index)>& add);

  ModelFileParts& parts() { return parts_; }

 private:
  Status TakeTensors(const std::string& path, std::vector<ModelTensor> tensors, int file);

  ModelFileParts parts_;
  std::uint32_t split_count_ = 1;
  std::map<std::string_view, int> file_of_;  // of each tensor
};

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_ASSEMBLY_H_
