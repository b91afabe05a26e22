#include "plan/read_shape.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "formats/gguf_header.h"
#include "formats/huggingface/checkpoint.h"
#include "plan/config_shape.h"
#include "plan/folder_weights.h"
#include "plan/gguf_shape.h"

namespace folio {
namespace {

constexpr std::uint64_t kMostIndexBytes = std::uint64_t{128} << 20;
constexpr std::size_t kMostFiles = 4096;

Result<std::string> ReadText(const std::string& path, std::uint64_t most, const OpenBytes& open) {
  const auto source = open(path);
  if (!source) return std::unexpected(source.error());
  if ((*source)->size() > most) {
    return InputError(path, "size",
                      "is " + std::to_string((*source)->size()) + " bytes, more than the " +
                          std::to_string(most) + " that are read");
  }
  std::string text(static_cast<std::size_t>((*source)->size()), '\0');
  if (Status read = (*source)->Read(0, std::as_writable_bytes(std::span(text))); !read)
    return std::unexpected(read.error());
  return text;
}

std::string PathIn(const std::string& folder, std::string_view name) {
  return std::string(folder).append("/").append(name);
}

// The safetensors files of a folder: those of the index, else the one there is; none is no error.
Result<std::set<std::string>> TensorFiles(const std::string& folder, const OpenBytes& open) {
  const std::string index = folder + "/model.safetensors.index.json";
  if (!open(index)) {
    const bool is_there = open(folder + "/model.safetensors").has_value();
    return is_there ? std::set<std::string>{"model.safetensors"} : std::set<std::string>();
  }
  const Result<std::string> text = ReadText(index, kMostIndexBytes, open);
  if (!text) return std::unexpected(text.error());
  const auto map = ReadCheckpointIndex(index, *text);
  if (!map) return std::unexpected(map.error());
  std::set<std::string> files;
  for (const auto& [tensor, file] : *map) files.insert(file);
  if (files.size() > kMostFiles)
    return InputError(index, "weight_map", "lists " + std::to_string(files.size()) + " files");
  return files;
}

Result<ModelShape> ReadGguf(const std::string& path, const OpenBytes& open) {
  const Result<ModelFile> file = OpenGgufHeader(path, open);
  if (!file) return std::unexpected(file.error());
  return ReadGgufShape(*file);
}

// A config.json by its name or its first character, unless it begins as GGUF files do.
bool IsConfig(const std::string& path, const ByteSource& source) {
  std::array<std::byte, 4> first{};
  const auto length =
      static_cast<std::size_t>(std::min<std::uint64_t>(first.size(), source.size()));
  if (!source.Read(0, std::span(first).first(length))) return false;
  if (std::memcmp(first.data(), "GGUF", first.size()) == 0) return false;
  return path.ends_with(".json") || first[0] == std::byte{'{'};
}

// A config.json that names no model stands for its folder's: tables of several tell them apart.
void NameAfterFolder(const std::string& path, ModelShape& shape) {
  if (shape.name != shape.architecture) return;
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error).lexically_normal();
  if (const std::string folder = whole.parent_path().filename(); !error && !folder.empty())
    shape.name = folder;
}

}  // namespace

Result<ModelShape> ReadFolderShape(const std::string& folder, const OpenBytes& open) {
  const std::string path = PathIn(folder, "config.json");
  const Result<std::string> config = ReadText(path, kMostConfigBytes, open);
  if (!config) return std::unexpected(config.error());
  Result<ModelShape> shape = ReadConfigShape(path, *config);
  if (!shape) return shape;
  NameAfterFolder(path, *shape);
  const Result<std::set<std::string>> files = TensorFiles(folder, open);
  if (!files) return std::unexpected(files.error());
  FolderWeights sum;
  for (const std::string& name : *files) {
    const std::string file = PathIn(folder, name);
    const auto source = open(file);
    if (!source) return std::unexpected(source.error());
    if (Status added = AddSafetensors(file, **source, sum); !added)
      return std::unexpected(added.error());
  }
  if (files->empty()) return shape;
  if (!sum.has_output) sum.weights.always += sum.embedding_bytes;
  shape->weights = sum.weights;
  return shape;
}

Result<ModelShape> ReadModelShape(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return ReadFolderShape(path, OpenFileBytes);
  const auto source = OpenFileBytes(path);
  if (!source) return std::unexpected(source.error());
  if (!IsConfig(path, **source)) return ReadGguf(path, OpenFileBytes);
  const Result<std::string> text = ReadText(path, kMostConfigBytes, OpenFileBytes);
  if (!text) return std::unexpected(text.error());
  Result<ModelShape> shape = ReadConfigShape(path, *text);
  if (shape) NameAfterFolder(path, *shape);
  return shape;
}

}  // namespace folio
