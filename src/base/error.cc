#include "base/error.h"

#include <cstddef>
#include <string_view>

namespace folio {
namespace {

constexpr std::size_t kLongestPart = 400;  // a hostile file must not flood the terminal

void AppendPart(std::string_view part, std::string& line) {
  if (part.empty()) return;
  if (!line.empty()) line += ": ";
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : part.substr(0, kLongestPart)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    } else {
      line += "\\x";
      line += kHex[byte >> 4];
      line += kHex[byte & 15];
    }
  }
  if (part.size() > kLongestPart) line += "...";
}

}  // namespace

std::string Error::Message() const {
  std::string line;
  AppendPart(what, line);
  AppendPart(where, line);
  AppendPart(why, line);
  return line;
}

}  // namespace folio
