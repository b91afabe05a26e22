#include "base/error.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace folio {
namespace {

constexpr std::size_t kLongestPart = 400;  // a hostile file must not flood the terminal

unsigned char ByteAt(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// Bytes of the character at `i`, or 0 where it is not to be shown: a control character (C1 controls
// too: some terminals obey them) or no UTF-8.
std::size_t ShownLength(std::string_view text, std::size_t i) {
  const unsigned char lead = ByteAt(text, i);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() - i < length) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((ByteAt(text, i + k) & 0xc0) != 0x80) return 0;
  }
  return lead == 0xc2 && ByteAt(text, i + 1) < 0xa0 ? 0 : length;
}

void AppendPart(std::string_view part, std::string& line) {
  if (part.empty()) return;
  if (!line.empty()) line += ": ";
  constexpr std::string_view kHex = "0123456789abcdef";
  std::size_t i = 0;
  while (i < std::min(part.size(), kLongestPart)) {
    if (const std::size_t length = ShownLength(part, i); length > 0) {
      line += part.substr(i, length);
      i += length;
      continue;
    }
    line += "\\x";
    line += kHex[ByteAt(part, i) >> 4];
    line += kHex[ByteAt(part, i) & 15];
    ++i;
  }
  if (i < part.size()) line += "...";
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
