#include "formats/metadata_value.h"

#include <cstddef>
#include <sstream>
#include <string_view>

#include "formats/utf8.h"

namespace folio {
namespace {

std::string FloatText(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

// Bytes that are no text: all but printable ASCII as \xNN.
std::string EscapedBytes(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text.append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return text;
}

struct Describe {
  std::string operator()(std::uint64_t value) const {
    return "the integer " + std::to_string(value);
  }
  std::string operator()(std::int64_t value) const {
    return "the integer " + std::to_string(value);
  }
  std::string operator()(double value) const { return "the float " + FloatText(value); }
  std::string operator()(bool value) const { return value ? "the bool true" : "the bool false"; }
  std::string operator()(std::string_view value) const {
    return "the string " + QuotedExcerpt(value);
  }
  std::string operator()(const std::vector<std::uint64_t>& array) const {
    return Array(array.size(), "integers");
  }
  std::string operator()(const std::vector<std::int64_t>& array) const {
    return Array(array.size(), "integers");
  }
  std::string operator()(const std::vector<double>& array) const {
    return Array(array.size(), "floats");
  }
  std::string operator()(const std::vector<bool>& array) const {
    return Array(array.size(), "bools");
  }
  std::string operator()(const std::vector<std::string_view>& array) const {
    return Array(array.size(), "strings");
  }
  static std::string Array(std::size_t size, std::string_view elements) {
    return "an array of " + std::to_string(size) + " " + std::string(elements);
  }
};

}  // namespace

std::string QuotedExcerpt(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::size_t end = text.size();
  if (end > kLongest) {
    end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  }
  const std::string_view excerpt = text.substr(0, end);
  return '"' + (IsValidUtf8(excerpt) ? std::string(excerpt) : EscapedBytes(excerpt)) + '"' +
         (end < text.size() ? "..." : "");
}

std::string DescribeMetadataValue(const MetadataValue& value) {
  return std::visit(Describe{}, value);
}

}  // namespace folio
