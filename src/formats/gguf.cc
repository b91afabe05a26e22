#include "formats/gguf.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf_file.h"
#include "formats/gguf_split.h"
#include "formats/gguf_tensor_table.h"
#include "formats/mapped_file.h"

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

// The files of a model, put together one after another.
class Assembly {
 public:
  Status AddFirst(const std::string& path, std::span<const std::byte> bytes);
  // Opens file `index` (from 1) and takes its tensors.
  Status AddPart(const std::string& path, std::uint32_t index);

  std::uint32_t split_count() const { return split_count_; }
  ModelFileParts& parts() { return parts_; }

 private:
  Status TakeTensors(const std::string& path, std::vector<ModelTensor> tensors, int file);

  ModelFileParts parts_;
  std::uint32_t split_count_ = 1;
  std::map<std::string_view, int> file_of_;  // of each tensor
};

Status Assembly::AddFirst(const std::string& path, std::span<const std::byte> bytes) {
  Result<GgufFile> file = ReadGgufFile(path, bytes);
  if (!file) return std::unexpected(std::move(file.error()));
  const Result<std::uint32_t> count = GgufSplitCount(path, *file);
  if (!count) return std::unexpected(count.error());
  split_count_ = *count;
  parts_.path = path;
  parts_.gguf_version = file->version;
  parts_.file_bytes = bytes.size();
  parts_.metadata = std::move(file->metadata);
  parts_.files.push_back(path);
  return TakeTensors(path, std::move(file->tensors), 0);
}

Status Assembly::AddPart(const std::string& path, std::uint32_t index) {
  Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(path);
  if (!mapping) return std::unexpected(std::move(mapping.error()));
  Result<GgufFile> part = ReadGgufFile(path, (*mapping)->bytes());
  if (!part) return std::unexpected(std::move(part.error()));
  if (Status fits = CheckGgufSplitPart(path, *part, index, split_count_); !fits) return fits;
  if (Status taken = TakeTensors(path, std::move(part->tensors), static_cast<int>(index)); !taken)
    return taken;
  parts_.file_bytes += (*mapping)->bytes().size();
  parts_.files.push_back(path);
  parts_.mappings.push_back(*std::move(mapping));
  return {};
}

Status Assembly::TakeTensors(const std::string& path, std::vector<ModelTensor> tensors, int file) {
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

}  // namespace

Result<ModelFile> ParseGguf(const std::string& name, std::span<const std::byte> bytes) {
  Assembly assembly;
  if (Status added = assembly.AddFirst(name, bytes); !added)
    return std::unexpected(std::move(added.error()));
  return ModelFile(std::move(assembly.parts()));
}

Result<ModelFile> OpenGguf(const std::string& path) {
  Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(path);
  if (!mapping) return std::unexpected(std::move(mapping.error()));
  Assembly assembly;
  if (Status added = assembly.AddFirst(path, (*mapping)->bytes()); !added)
    return std::unexpected(std::move(added.error()));
  ModelFileParts& parts = assembly.parts();
  parts.mappings.push_back(*std::move(mapping));
  if (assembly.split_count() == 1) return ModelFile(std::move(parts));
  const Result<GgufSplitPath> split = FirstOfSplit(path, assembly.split_count());
  if (!split) return std::unexpected(split.error());
  for (std::uint32_t index = 1; index < split->count; ++index) {
    if (Status added = assembly.AddPart(split->Path(index + 1), index); !added)
      return std::unexpected(std::move(added.error()));
  }
  if (Status complete = CheckGgufSplitTensors(path, parts.metadata, parts.tensors.size());
      !complete) {
    return std::unexpected(std::move(complete.error()));
  }
  return ModelFile(std::move(parts));
}

}  // namespace folio
