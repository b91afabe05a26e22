#include "api/encrypted_content.h"

#include <cstddef>
#include <cstdint>

#include "formats/utf8.h"

namespace folio {
namespace {

constexpr std::string_view kMark = "folio1.";
constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string EncryptedContent(std::string_view reasoning) {
  std::string text(kMark);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : reasoning) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kDigits[bits << (6 - count) & 63];
  return text;
}

std::optional<std::string> DecryptedContent(std::string_view content) {
  if (!content.starts_with(kMark)) return std::nullopt;
  content.remove_prefix(kMark.size());
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : content) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    text += static_cast<char>(bits >> count & 255);
  }
  if (!IsValidUtf8(text)) return std::nullopt;
  return text;
}

}  // namespace folio
