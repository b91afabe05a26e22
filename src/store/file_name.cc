#include "store/file_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace folio {
namespace {

constexpr std::size_t kMostComponents = 8;
constexpr std::size_t kLongestComponent = 200;  // leaves room for ".part.etag" within NAME_MAX
constexpr std::size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";
constexpr std::string_view kGguf = ".gguf";

bool IsPlain(std::string_view component) {
  if (component.empty() || component.size() > kLongestComponent) return false;
  if (component.front() == '.' || component.front() == '-') return false;
  return std::ranges::none_of(
      component, [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '\\' || c == ':'; });
}

std::optional<int> FiveDigits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '-') return {};
  return value;
}

}  // namespace

Status CheckRelativeName(std::string_view name, const std::string& where) {
  std::size_t components = 0;
  std::string_view rest = name;
  while (true) {
    const std::size_t slash = rest.find('/');
    if (!IsPlain(rest.substr(0, slash)) || ++components > kMostComponents) {
      return InputError(where, "file name", "'" + std::string(name) + "' is refused as unsafe");
    }
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

std::optional<SplitName> ParseSplitName(std::string_view name) {
  // stem - 00001 -of- 00003 .gguf
  constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits + kGguf.size();
  if (name.size() <= kTail || !name.ends_with(kGguf)) return std::nullopt;
  const std::string_view tail = name.substr(name.size() - kTail);
  if (tail.front() != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf) return std::nullopt;
  const auto index = FiveDigits(tail.substr(1, kDigits));
  const auto count = FiveDigits(tail.substr(1 + kDigits + kOf.size(), kDigits));
  if (!index || !count || *index < 1 || *index > *count) return std::nullopt;
  return SplitName{std::string(name.substr(0, name.size() - kTail)), *index, *count};
}

std::string SplitFileName(const SplitName& split, int index) {
  std::array<char, 32> tail{};
  std::snprintf(tail.data(), tail.size(), "-%05d-of-%05d", index, split.count);
  return split.stem + tail.data() + std::string(kGguf);
}

}  // namespace folio
