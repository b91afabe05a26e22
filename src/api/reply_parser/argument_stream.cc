#include "api/reply_parser/argument_stream.h"

#include <string_view>

namespace folio {

void AppendEscaped(char c, std::string& text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
    case '\\':
      text += '\\';
      text += c;
      return;
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      break;
  }
  if (byte >= 0x20) {
    text += c;
    return;
  }
  text += "\\u00";
  text += kHex[byte >> 4];
  text += kHex[byte & 15];
}

JsonScanner::Step ArgumentStream::Take(char c, std::string& told) {
  const bool raw = scanner_.in_string() && static_cast<unsigned char>(c) < 0x20;
  const JsonScanner::Step step = scanner_.Take(c);
  if (step != JsonScanner::Step::kMore && step != JsonScanner::Step::kEnd) return step;
  if (raw) {
    AppendEscaped(c, told);
  } else {
    told += c;
  }
  return step;
}

}  // namespace folio
