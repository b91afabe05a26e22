#include "formats/gguf_assembly.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "formats/gguf_split.h"
#include "formats/gguf_tensor_table.h"

namespace folio {
namespace {

Result<GgufSplitPath> FirstOfSplit(const std::string& path, std::uint32_t count) {
  const std::optional<GgufSplitPath> split = ParseGgufSplitPath(path);
  if (!split || split->count != count) {
    return InputError(path, "split.count",
                      "is " + std::to_string(count) + ", but the file's name does not end in " +
                          GgufSplitPath{"", 1, count}.Path(1));
  }
  if (split->number != 1) {
    return InputError(path, "split.no",
                      "is file " + std::to_string(split->number) + " of " + std::to_string(count) +
                          "; open the first, " + split->Path(1));
  }
  return *split;
}

}  // namespace

Status GgufAssembly::AddFirst(const std::string& path, GgufFile file, std::uint64_t file_bytes) {
  const Result<std::uint32_t> count = GgufSplitCount(path, file);
  if (!count) return std::unexpected(count.error());
  split_count_ = *count;
  parts_.path = path;
  parts_.gguf_version = file.version;
  parts_.file_bytes = file_bytes;
  parts_.metadata = std::move(file.metadata);
  parts_.files.push_back(path);
  return TakeTensors(path, std::move(file.tensors), 0);
}

Status GgufAssembly::AddPart(const std::string& path, GgufFile file, std::uint64_t file_bytes,
                             std::uint32_t index) {
  if (Status fits = CheckGgufSplitPart(path, file, index, split_count_); !fits) return fits;
  if (Status taken = TakeTensors(path, std::move(file.tensors), static_cast<int>(index)); !taken)
    return taken;
  parts_.file_bytes += file_bytes;
  parts_.files.push_back(path);
  return {};
}

Status GgufAssembly::AddOthers(
    const std::string& first,
    const std::function<Status(const std::string& path, std::uint32_t index)>& add) {
  if (split_count_ == 1) return {};
  const Result<GgufSplitPath> split = FirstOfSplit(first, split_count_);
  if (!split) return std::unexpected(split.error());
  for (std::uint32_t index = 1; index < split->count; ++index) {
    if (Status added = add(split->Path(index + 1), index); !added) return added;
  }
  return CheckGgufSplitTensors(first, parts_.metadata, parts_.tensors.size());
}

Status GgufAssembly::TakeTensors(const std::string& path, std::vector<ModelTensor> tensors,
                                 int file) {
  if (tensors.size() >
      kMaxGgufTensors - std::min<std::uint64_t>(kMaxGgufTensors, parts_.tensors.size())) {
    return InputError(path, "tensor count",
                      std::to_string(tensors.size()) +
                          " tensors: with the files before, more than " +
                          std::to_string(kMaxGgufTensors));
  }
  for (ModelTensor& tensor : tensors) {
    const auto [known, is_new] = file_of_.emplace(tensor.name, file);
    if (!is_new) {
      return InputError(path, "tensor " + std::string(tensor.name),
                        "is also in " + parts_.files[static_cast<std::size_t>(known->second)]);
    }
    tensor.file = file;
  }
  std::move(tensors.begin(), tensors.end(), std::back_inserter(parts_.tensors));
  return {};
}

}  // namespace folio
