#include "formats/utf8.h"

#include <cstdint>
#include <cstring>

namespace folio {
namespace {

struct Lead {
  std::size_t continuations;  // bytes that follow; 0 where no character starts with this byte
  std::uint8_t second_low;    // bounds of the first of them: they keep out overlong forms,
  std::uint8_t second_high;   // surrogates and what lies above U+10FFFF
};

Lead LeadOf(std::uint8_t byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return {1, 0x80, 0xbf};
  if (byte == 0xe0) return {2, 0xa0, 0xbf};
  if (byte == 0xed) return {2, 0x80, 0x9f};
  if (byte >= 0xe1 && byte <= 0xef) return {2, 0x80, 0xbf};
  if (byte == 0xf0) return {3, 0x90, 0xbf};
  if (byte == 0xf4) return {3, 0x80, 0x8f};
  if (byte >= 0xf1 && byte <= 0xf3) return {3, 0x80, 0xbf};
  return {0, 0, 0};
}

// Length of the ASCII run at the front, in steps of eight bytes: most text is ASCII.
std::size_t AsciiWords(const char* text, std::size_t size) {
  std::size_t done = 0;
  while (size - done >= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, text + done, sizeof(word));
    if ((word & 0x8080808080808080U) != 0) break;
    done += sizeof(word);
  }
  return done;
}

}  // namespace

std::size_t ValidUtf8Prefix(std::string_view text) {
  const auto byte_at = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::size_t i = AsciiWords(text.data(), text.size());
  while (i < text.size()) {
    if (byte_at(i) < 0x80) {
      ++i;
      continue;
    }
    const Lead lead = LeadOf(byte_at(i));
    if (lead.continuations == 0 || text.size() - i <= lead.continuations) return i;
    if (byte_at(i + 1) < lead.second_low || byte_at(i + 1) > lead.second_high) return i;
    for (std::size_t k = 2; k <= lead.continuations; ++k) {
      if ((byte_at(i + k) & 0xc0) != 0x80) return i;
    }
    i += 1 + lead.continuations;
    i += AsciiWords(text.data() + i, text.size() - i);
  }
  return i;
}

}  // namespace folio
