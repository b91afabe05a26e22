#include "formats/model_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "formats/mapped_file.h"

namespace folio {

ModelFile::ModelFile(ModelFileParts parts) : parts_(std::move(parts)) {
  for (std::size_t i = 0; i < parts_.tensors.size(); ++i)
    tensor_index_.emplace(parts_.tensors[i].name, i);
}

void ModelFile::LetGo(const ModelTensor& tensor, std::span<const std::byte> part) const {
  if (tensor.file < 0 || parts_.mappings.empty()) return;
  parts_.mappings[static_cast<std::size_t>(tensor.file)]->LetGo(part);
}

Status ModelFile::Read(const ModelTensor& tensor, std::size_t first,
                       std::span<std::byte> into) const {
  if (tensor.file < 0) {
    std::ranges::copy(tensor.data.subspan(first, into.size()), into.begin());
    return {};
  }
  const MappedFile& file = *parts_.mappings[static_cast<std::size_t>(tensor.file)];
  Status read = file.Read(tensor.offset + first, into);
  if (!read) read.error().where = std::string(tensor.name) + ", " + read.error().where;
  return read;
}

void ModelFile::WillRead(const ModelTensor& tensor, std::size_t first, std::size_t bytes) const {
  if (tensor.file < 0) return;
  parts_.mappings[static_cast<std::size_t>(tensor.file)]->WillRead(tensor.offset + first, bytes);
}

const ModelTensor* ModelFile::FindTensor(std::string_view name) const {
  const auto entry = tensor_index_.find(name);
  return entry == tensor_index_.end() ? nullptr : &parts_.tensors[entry->second];
}

std::string ModelFile::SourceName(std::string_view name) const {
  const auto source = parts_.source_names.find(name);
  return std::string(source == parts_.source_names.end() ? name : source->second);
}

const MetadataValue* ModelFile::Find(std::string_view key) const {
  const auto entry = parts_.metadata.find(key);
  return entry == parts_.metadata.end() ? nullptr : &entry->second;
}

std::unexpected<Error> ModelFile::Missing(std::string_view key) const {
  return InputError(parts_.path, SourceName(key), "the key is missing");
}

std::unexpected<Error> ModelFile::WrongType(std::string_view key, const MetadataValue& value,
                                            std::string_view needed) const {
  return InputError(
      parts_.path, SourceName(key),
      "is " + DescribeMetadataValue(value) + "; " + std::string(needed) + " is needed");
}

Result<std::uint64_t> ModelFile::GetUint(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* number = std::get_if<std::uint64_t>(value)) return *number;
  const auto* number = std::get_if<std::int64_t>(value);
  if (number != nullptr && *number >= 0) return static_cast<std::uint64_t>(*number);
  return WrongType(key, *value, "an integer of at least 0");
}

Result<double> ModelFile::GetFloat(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  const auto* number = std::get_if<double>(value);
  if (number != nullptr && std::isfinite(*number)) return *number;
  return WrongType(key, *value, "a finite float");
}

Result<bool> ModelFile::GetBool(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* truth = std::get_if<bool>(value)) return *truth;
  return WrongType(key, *value, "a bool");
}

Result<std::string_view> ModelFile::GetString(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* text = std::get_if<std::string_view>(value)) return *text;
  return WrongType(key, *value, "a string");
}

Result<std::uint64_t> ModelFile::GetUintOr(std::string_view key, std::uint64_t fallback) const {
  return Find(key) == nullptr ? fallback : GetUint(key);
}

Result<double> ModelFile::GetFloatOr(std::string_view key, double fallback) const {
  return Find(key) == nullptr ? fallback : GetFloat(key);
}

Result<bool> ModelFile::GetBoolOr(std::string_view key, bool fallback) const {
  return Find(key) == nullptr ? fallback : GetBool(key);
}

Result<std::string_view> ModelFile::GetStringOr(std::string_view key,
                                                std::string_view fallback) const {
  return Find(key) == nullptr ? fallback : GetString(key);
}

Result<std::span<const std::string_view>> ModelFile::GetStrings(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  const auto* strings = std::get_if<std::vector<std::string_view>>(value);
  if (strings == nullptr) return WrongType(key, *value, "an array of strings");
  return std::span<const std::string_view>(*strings);
}

Result<std::vector<std::int64_t>> ModelFile::GetInts(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(value)) return *ints;
  const auto* uints = std::get_if<std::vector<std::uint64_t>>(value);
  if (uints == nullptr) return WrongType(key, *value, "an array of integers");
  constexpr auto kMost = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  for (std::size_t i = 0; i < uints->size(); ++i) {
    if ((*uints)[i] <= kMost) continue;
    return InputError(parts_.path, SourceName(key),
                      "[" + std::to_string(i) + "] is " + std::to_string((*uints)[i]) +
                          ", more than a signed integer holds");
  }
  return std::vector<std::int64_t>(uints->begin(), uints->end());
}

Result<std::vector<double>> ModelFile::GetFloats(std::string_view key) const {
  const MetadataValue* value = Find(key);
  if (value == nullptr) return Missing(key);
  const auto* floats = std::get_if<std::vector<double>>(value);
  if (floats == nullptr) return WrongType(key, *value, "an array of floats");
  return *floats;
}

}  // namespace folio
