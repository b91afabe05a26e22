// Reader of GGUF model files, versions 2 and 3 (specification: ggml's docs/gguf.md). The file is
// untrusted input: every count, offset, length and product is checked before use, and an error
// names the file, the field and the value.
#ifndef FOLIO_FORMATS_GGUF_H_
#define FOLIO_FORMATS_GGUF_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "quant/ggml_type.h"

namespace folio {

class MappedFile;

// A metadata value. Arrays are homogeneous; integers and bools of any width become int64 or uint64,
// floats double. Strings and string arrays are views into the mapped file.
using GgufValue =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view,
                 std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<bool>, std::vector<std::string_view>>;

struct GgufTensor {
  std::string_view name;
  GgmlType type = GgmlType::kF32;
  // Sizes in GGUF's order, fastest first: a weight matrix [n, k] has dims {k, n}.
  std::vector<std::int64_t> dims;
  std::int64_t elements = 0;
  std::size_t bytes = 0;
  int file = 0;                     // which file of a split model
  std::uint64_t offset = 0;         // of the data, from that file's start
  std::span<const std::byte> data;  // mapped; reading it may fault pages in
};

// An open model: one file, or all files of a split one (-00001-of-0000N), opened by naming the
// first.
class Gguf {
 public:
  static Result<Gguf> Open(const std::string& path);
  // Parses one file's bytes, for tests and the fuzzer; `name` stands for the path in errors.
  // `bytes` must outlive it. Of a split model it gives what this file alone has.
  static Result<Gguf> Parse(std::string name, std::span<const std::byte> bytes);

  const std::string& path() const { return path_; }
  std::uint32_t version() const { return version_; }
  std::uint64_t file_bytes() const { return file_bytes_; }
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* FindTensor(std::string_view name) const;
  // Paths of all files, in order.
  const std::vector<std::string>& files() const { return files_; }
  // Takes the pages of a part of a tensor's data out of memory; they come back when they are read.
  void LetGo(const GgufTensor& tensor, std::span<const std::byte> part) const;

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
  const GgufValue* Find(std::string_view key) const;
  // Arrays; a missing key is an error.
  Result<std::span<const std::string_view>> GetStrings(std::string_view key) const;
  Result<std::vector<std::int64_t>> GetInts(std::string_view key) const;
  Result<std::vector<double>> GetFloats(std::string_view key) const;

 private:
  // Opens file `index` (from 1) of a split model and takes its tensors.
  Status AddSplitPart(const std::string& path, std::uint32_t index);
  void IndexTensors();
  std::unexpected<Error> Missing(std::string_view key) const;
  std::unexpected<Error> WrongType(std::string_view key, const GgufValue& value,
                                   std::string_view needed) const;

  std::string path_;
  std::uint32_t split_count_ = 1;
  std::uint32_t version_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string_view, std::size_t> tensor_index_;
  std::vector<std::string> files_;
  std::vector<std::shared_ptr<MappedFile>> mappings_;
};

}  // namespace folio

#endif  // FOLIO_FORMATS_GGUF_H_
