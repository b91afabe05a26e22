#include "formats/gguf_split.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "formats/metadata_value.h"

namespace folio {
namespace {

constexpr std::string_view kNumberKey = "split.no";
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";
constexpr std::size_t kDigits = 5;

// A non-negative integer of any width; nothing when the key is missing.
Result<std::optional<std::uint64_t>> FindCount(const std::string& path, const Metadata& metadata,
                                               std::string_view key) {
  const auto entry = metadata.find(key);
  if (entry == metadata.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::uint64_t>(&entry->second)) return *value;
  const auto* value = std::get_if<std::int64_t>(&entry->second);
  if (value != nullptr && *value >= 0) return static_cast<std::uint64_t>(*value);
  return InputError(
      path, std::string(key),
      "is " + DescribeMetadataValue(entry->second) + "; an integer of at least 0 is needed");
}

// The number in exactly kDigits digits at the front of `text`, which is cut off; 0 if there is
// none.
std::uint32_t TakeNumber(std::string_view& text) {
  const std::string_view digits = text.substr(0, kDigits);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (digits.size() != kDigits || !std::all_of(digits.begin(), digits.end(), is_digit)) return 0;
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  text.remove_prefix(kDigits);
  return number;
}

bool TakePrefix(std::string_view prefix, std::string_view& text) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string GgufSplitPath::Path(std::uint32_t file_number) const {
  std::array<char, 32> suffix{};
  std::snprintf(suffix.data(), suffix.size(), "-%05u-of-%05u.gguf", file_number, count);
  return prefix + suffix.data();
}

std::optional<GgufSplitPath> ParseGgufSplitPath(std::string_view path) {
  constexpr std::string_view kShape = "-00001-of-00001.gguf";
  if (path.size() < kShape.size()) return std::nullopt;
  GgufSplitPath split;
  split.prefix = path.substr(0, path.size() - kShape.size());
  std::string_view rest = path.substr(split.prefix.size());
  if (!TakePrefix("-", rest)) return std::nullopt;
  split.number = TakeNumber(rest);
  if (!TakePrefix("-of-", rest)) return std::nullopt;
  split.count = TakeNumber(rest);
  if (rest != ".gguf" || split.number < 1 || split.number > split.count) return std::nullopt;
  return split;
}

Result<std::uint32_t> GgufSplitCount(const std::string& path, const GgufFile& first) {
  const auto count = FindCount(path, first.metadata, kCountKey);
  if (!count) return std::unexpected(count.error());
  if (!count->has_value()) return 1;
  constexpr std::uint64_t kMostFiles = 65'535;  // split.count is a uint16
  if (**count > kMostFiles) {
    return InputError(
        path, std::string(kCountKey),
        std::to_string(**count) + " files; at most " + std::to_string(kMostFiles) + " are allowed");
  }
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(**count));
}

Status CheckGgufSplitPart(const std::string& path, const GgufFile& part, std::uint32_t index,
                          std::uint32_t count) {
  const auto require = [&](std::string_view key, std::uint32_t expected) -> Status {
    const auto value = FindCount(path, part.metadata, key);
    if (!value) return std::unexpected(value.error());
    if (value->has_value() && **value == expected) return {};
    return InputError(path, std::string(key),
                      (value->has_value() ? "is " + std::to_string(**value) : "is missing") +
                          "; file " + std::to_string(index + 1) + " of " + std::to_string(count) +
                          " needs " + std::to_string(expected));
  };
  if (Status number = require(kNumberKey, index); !number) return number;
  return require(kCountKey, count);
}

Status CheckGgufSplitTensors(const std::string& path, const Metadata& metadata,
                             std::size_t tensors) {
  const auto announced = FindCount(path, metadata, kTensorsKey);
  if (!announced) return std::unexpected(announced.error());
  if (!announced->has_value() || **announced == tensors) return {};
  return InputError(path, std::string(kTensorsKey),
                    "is " + std::to_string(**announced) + ", but the files have " +
                        std::to_string(tensors) + " tensors together");
}

}  // namespace folio
