#include "text/utf8_repair.h"

namespace folio {
namespace {

struct Sequence {
  std::size_t bytes;  // that belong together: the whole character, or the part before the error
  enum { kWhole, kBroken, kUnfinished } state;
};

// The well-formed sequences of the Unicode Standard's table 3-7.
Sequence ReadSequence(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {1, Sequence::kWhole};
  if (lead < 0xC2 || lead > 0xF4) return {1, Sequence::kBroken};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, Sequence::kUnfinished};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    unsigned lowest = 0x80;
    unsigned highest = 0xBF;
    if (i == 1) {
      if (lead == 0xE0) lowest = 0xA0;   // overlong
      if (lead == 0xED) highest = 0x9F;  // surrogates
      if (lead == 0xF0) lowest = 0x90;   // overlong
      if (lead == 0xF4) highest = 0x8F;  // above U+10FFFF
    }
    if (byte < lowest || byte > highest) return {i, Sequence::kBroken};
  }
  return {length, Sequence::kWhole};
}

}  // namespace

std::size_t AppendRepaired(std::string_view bytes, bool at_end, std::string& text) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    const Sequence sequence = ReadSequence(bytes.substr(used));
    if (sequence.state == Sequence::kUnfinished && !at_end) break;
    if (sequence.state == Sequence::kWhole) {
      text += bytes.substr(used, sequence.bytes);
    } else {
      text += "\uFFFD";
    }
    used += sequence.bytes;
  }
  return used;
}

}  // namespace folio
