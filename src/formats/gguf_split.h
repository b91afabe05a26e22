// Models split over several files by ggml's convention: NAME-00001-of-0000N.gguf and so on, each a
// complete GGUF file. All metadata is in the first; split.no, split.count and split.tensors.count
// are in each.
#ifndef FOLIO_FORMATS_GGUF_SPLIT_H_
#define FOLIO_FORMATS_GGUF_SPLIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/gguf_file.h"

namespace folio {

// The parts of a split file's path.
struct GgufSplitPath {
  std::string prefix;        // all before "-00001-of-0000N.gguf"
  std::uint32_t number = 0;  // from 1
  std::uint32_t count = 0;

  // The path of file `file_number` of the same model.
  std::string Path(std::uint32_t file_number) const;
};

// Nothing when the path doesn't end in such a name.
std::optional<GgufSplitPath> ParseGgufSplitPath(std::string_view path);

// How many files the model has, by its first file's metadata: 1 when it is not split.
Result<std::uint32_t> GgufSplitCount(const std::string& path, const GgufFile& first);

// Refuses a file whose split keys don't say that it is `index` (from 0) of `count`.
Status CheckGgufSplitPart(const std::string& path, const GgufFile& part, std::uint32_t index,
                          std::uint32_t count);

// Refuses a model whose files together don't have the tensors that the first one announces.
Status CheckGgufSplitTensors(const std::string& path, const Metadata& metadata,
                             std::size_t tensors);

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_SPLIT_H_
