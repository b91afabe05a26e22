#include "formats/gguf.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "formats/gguf_file.h"
#include "formats/gguf_split.h"
#include "formats/gguf_tensor_table.h"
#include "formats/gguf_value.h"
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

}  // namespace

Result<Gguf> Gguf::Parse(std::string name, std::span<const std::byte> bytes) {
  Result<GgufFile> file = ReadGgufFile(name, bytes);
  if (!file) return std::unexpected(std::move(file.error()));
  const Result<std::uint32_t> count = GgufSplitCount(name, *file);
  if (!count) return std::unexpected(count.error());
  Gguf gguf;
  gguf.path_ = name;
  gguf.split_count_ = *count;
  gguf.version_ = file->version;
  gguf.file_bytes_ = bytes.size();
  gguf.metadata_ = std::move(file->metadata);
  gguf.tensors_ = std::move(file->tensors);
  gguf.files_.push_back(std::move(name));
  gguf.IndexTensors();
  return gguf;
}

Result<Gguf> Gguf::Open(const std::string& path) {
  Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(path);
  if (!mapping) return std::unexpected(std::move(mapping.error()));
  Result<Gguf> gguf = Parse(path, (*mapping)->bytes());
  if (!gguf) return gguf;
  gguf->mappings_.push_back(*std::move(mapping));
  if (gguf->split_count_ == 1) return gguf;
  const Result<GgufSplitPath> split = FirstOfSplit(path, gguf->split_count_);
  if (!split) return std::unexpected(split.error());
  for (std::uint32_t index = 1; index < split->count; ++index) {
    if (Status added = gguf->AddSplitPart(split->Path(index + 1), index); !added) {
      return std::unexpected(std::move(added.error()));
    }
  }
  if (Status complete = CheckGgufSplitTensors(path, gguf->metadata_, gguf->tensors_.size());
      !complete) {
    return std::unexpected(std::move(complete.error()));
  }
  gguf->IndexTensors();
  return gguf;
}

Status Gguf::AddSplitPart(const std::string& path, std::uint32_t index) {
  Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(path);
  if (!mapping) return std::unexpected(std::move(mapping.error()));
  Result<GgufFile> part = ReadGgufFile(path, (*mapping)->bytes());
  if (!part) return std::unexpected(std::move(part.error()));
  if (Status fits = CheckGgufSplitPart(path, *part, index, split_count_); !fits) return fits;
  if (part->tensors.size() >
      kMaxGgufTensors - std::min<std::uint64_t>(kMaxGgufTensors, tensors_.size())) {
    return InputError(path, "tensor count",
                      std::to_string(part->tensors.size()) +
                          " tensors: with the files before, more than " +
                          std::to_string(kMaxGgufTensors));
  }
  for (GgufTensor& tensor : part->tensors) {
    const auto known = tensor_index_.find(tensor.name);
    if (known != tensor_index_.end()) {
      return InputError(
          path, "tensor " + std::string(tensor.name),
          "is also in " + files_[static_cast<std::size_t>(tensors_[known->second].file)]);
    }
    tensor.file = static_cast<int>(index);
  }
  std::move(part->tensors.begin(), part->tensors.end(), std::back_inserter(tensors_));
  IndexTensors();
  file_bytes_ += (*mapping)->bytes().size();
  files_.push_back(path);
  mappings_.push_back(*std::move(mapping));
  return {};
}

void Gguf::LetGo(const GgufTensor& tensor, std::span<const std::byte> part) const {
  if (!mappings_.empty()) mappings_[static_cast<std::size_t>(tensor.file)]->LetGo(part);
}

void Gguf::IndexTensors() {
  for (std::size_t i = tensor_index_.size(); i < tensors_.size(); ++i) {
    tensor_index_.emplace(tensors_[i].name, i);
  }
}

const GgufTensor* Gguf::FindTensor(std::string_view name) const {
  const auto entry = tensor_index_.find(name);
  return entry == tensor_index_.end() ? nullptr : &tensors_[entry->second];
}

const GgufValue* Gguf::Find(std::string_view key) const {
  const auto entry = metadata_.find(key);
  return entry == metadata_.end() ? nullptr : &entry->second;
}

std::unexpected<Error> Gguf::Missing(std::string_view key) const {
  return InputError(path_, std::string(key), "the key is missing");
}

std::unexpected<Error> Gguf::WrongType(std::string_view key, const GgufValue& value,
                                       std::string_view needed) const {
  return InputError(path_, std::string(key),
                    "is " + DescribeGgufValue(value) + "; " + std::string(needed) + " is needed");
}

Result<std::uint64_t> Gguf::GetUint(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* number = std::get_if<std::uint64_t>(value)) return *number;
  const auto* number = std::get_if<std::int64_t>(value);
  if (number != nullptr && *number >= 0) return static_cast<std::uint64_t>(*number);
  return WrongType(key, *value, "an integer of at least 0");
}

Result<double> Gguf::GetFloat(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  const auto* number = std::get_if<double>(value);
  if (number != nullptr && std::isfinite(*number)) return *number;
  return WrongType(key, *value, "a finite float");
}

Result<bool> Gguf::GetBool(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* truth = std::get_if<bool>(value)) return *truth;
  return WrongType(key, *value, "a bool");
}

Result<std::string_view> Gguf::GetString(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* text = std::get_if<std::string_view>(value)) return *text;
  return WrongType(key, *value, "a string");
}

Result<std::uint64_t> Gguf::GetUintOr(std::string_view key, std::uint64_t fallback) const {
  return Find(key) == nullptr ? fallback : GetUint(key);
}

Result<double> Gguf::GetFloatOr(std::string_view key, double fallback) const {
  return Find(key) == nullptr ? fallback : GetFloat(key);
}

Result<bool> Gguf::GetBoolOr(std::string_view key, bool fallback) const {
  return Find(key) == nullptr ? fallback : GetBool(key);
}

Result<std::string_view> Gguf::GetStringOr(std::string_view key, std::string_view fallback) const {
  return Find(key) == nullptr ? fallback : GetString(key);
}

Result<std::span<const std::string_view>> Gguf::GetStrings(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  const auto* strings = std::get_if<std::vector<std::string_view>>(value);
  if (strings == nullptr) return WrongType(key, *value, "an array of strings");
  return std::span<const std::string_view>(*strings);
}

Result<std::vector<std::int64_t>> Gguf::GetInts(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(value)) return *ints;
  const auto* uints = std::get_if<std::vector<std::uint64_t>>(value);
  if (uints == nullptr) return WrongType(key, *value, "an array of integers");
  constexpr auto kMost = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  for (std::size_t i = 0; i < uints->size(); ++i) {
    if ((*uints)[i] <= kMost) continue;
    return InputError(path_, std::string(key),
                      "[" + std::to_string(i) + "] is " + std::to_string((*uints)[i]) +
                          ", more than a signed integer holds");
  }
  return std::vector<std::int64_t>(uints->begin(), uints->end());
}

Result<std::vector<double>> Gguf::GetFloats(std::string_view key) const {
  const GgufValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  const auto* floats = std::get_if<std::vector<double>>(value);
  if (floats == nullptr) return WrongType(key, *value, "an array of floats");
  return *floats;
}

}  // namespace folio
