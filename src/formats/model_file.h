// An open model, whatever it lies in: metadata and tensors under GGUF's names. A GGUF file has them
// (gguf.h); other formats are read into them, so that a family of models is described once.
#ifndef FOLIO_FORMATS_MODEL_FILE_H_
#define FOLIO_FORMATS_MODEL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/metadata_value.h"
#include "quant/ggml_type.h"

namespace folio {

class MappedFile;

struct ModelTensor {
  std::string_view name;
  GgmlType type = GgmlType::kF32;
  // Sizes in GGUF's order, fastest first: a weight matrix [n, k] has dims {k, n}.
  std::vector<std::int64_t> dims;
  std::int64_t elements = 0;
  std::size_t bytes = 0;
  int file = 0;                     // which of the model's files; -1: none, it was computed
  std::uint64_t offset = 0;         // of the data, from that file's start
  std::span<const std::byte> data;  // mapped; reading it may fault pages in
};

// What a reader of a format puts together.
struct ModelFileParts {
  std::string path;
  std::uint32_t gguf_version = 0;  // 0: no GGUF file
  std::uint64_t file_bytes = 0;
  Metadata metadata;
  std::vector<ModelTensor> tensors;  // no two of one name
  std::vector<std::string> files;
  std::vector<std::shared_ptr<MappedFile>> mappings;  // one a file, or none
  std::vector<std::shared_ptr<const void>> kept;      // more memory that views point into
  // What keys and tensors are called in the files, where that is not GGUF's name.
  std::map<std::string, std::string, std::less<>> source_names;
};

class ModelFile {
 public:
  ModelFile() = default;
  explicit ModelFile(ModelFileParts parts);

  const std::string& path() const { return parts_.path; }
  std::uint32_t gguf_version() const { return parts_.gguf_version; }
  std::uint64_t file_bytes() const { return parts_.file_bytes; }
  const Metadata& metadata() const { return parts_.metadata; }
  const std::vector<ModelTensor>& tensors() const { return parts_.tensors; }
  const ModelTensor* FindTensor(std::string_view name) const;
  // Paths of all files, in order.
  const std::vector<std::string>& files() const { return parts_.files; }
  // What the files call a key or a tensor: its name for errors.
  std::string SourceName(std::string_view name) const;
  // Takes the pages of a part of a tensor's data out of memory; they come back when they are read.
  void LetGo(const ModelTensor& tensor, std::span<const std::byte> part) const;
  // Bytes [first, first + into.size()) of a tensor's data, and a hint about them, past the mapping
  // (MappedFile). Of a file that was opened, not parsed.
  Status Read(const ModelTensor& tensor, std::size_t first, std::span<std::byte> into) const;
  void WillRead(const ModelTensor& tensor, std::size_t first, std::size_t bytes) const;

  // Keeps memory that metadata point into as long as the model.
  void Keep(std::shared_ptr<const void> memory) { parts_.kept.push_back(std::move(memory)); }

  // Typed access. A missing key is an error that names it; so is another type (any integer type
  // serves for an integer in range, any float type for a float) and a scalar float that is not
  // finite.
  Result<std::uint64_t> GetUint(std::string_view key) const;
  Result<double> GetFloat(std::string_view key) const;
  Result<bool> GetBool(std::string_view key) const;
  Result<std::string_view> GetString(std::string_view key) const;
  // As above; a missing key gives `fallback`, a wrong type is still an error.
  Result<std::uint64_t> GetUintOr(std::string_view key, std::uint64_t fallback) const;
  Result<double> GetFloatOr(std::string_view key, double fallback) const;
  Result<bool> GetBoolOr(std::string_view key, bool fallback) const;
  Result<std::string_view> GetStringOr(std::string_view key, std::string_view fallback) const;
  // The value itself, or null.
  const MetadataValue* Find(std::string_view key) const;
  // Arrays; a missing key is an error.
  Result<std::span<const std::string_view>> GetStrings(std::string_view key) const;
  Result<std::vector<std::int64_t>> GetInts(std::string_view key) const;
  Result<std::vector<double>> GetFloats(std::string_view key) const;

 private:
  std::unexpected<Error> Missing(std::string_view key) const;
  std::unexpected<Error> WrongType(std::string_view key, const MetadataValue& value,
                                   std::string_view needed) const;

  ModelFileParts parts_;
  std::map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace folio

#endif  // FOLIO_FORMATS_MODEL_FILE_H_
