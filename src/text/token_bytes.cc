#include "text/token_bytes.h"

#include <array>
#include <cstdint>
#include <optional>

namespace folio {
namespace {

// GPT-2's printable characters (Radford et al. 2019, bytes_to_unicode): printable Latin-1 stands
// for itself, every other byte for U+0100 and up, in order. Index: code point; -1: no byte.
constexpr std::array<std::int16_t, 0x144> MakeByteOfCharacter() {
  std::array<std::int16_t, 0x144> bytes{};
  for (auto& byte : bytes) byte = -1;
  std::size_t next = 0x100;
  for (std::int16_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
                           (byte >= 0xAE && byte <= 0xFF);
    bytes[printable ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return bytes;
}
constexpr auto kByteOfCharacter = MakeByteOfCharacter();

void AppendByteLevel(std::string_view spelling, std::string& bytes) {
  for (std::size_t i = 0; i < spelling.size();) {
    const auto lead = static_cast<unsigned char>(spelling[i]);
    std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > spelling.size() - i) length = spelling.size() - i;
    std::size_t code = lead;
    if (length == 2) {
      code = (lead & 0x1FU) << 6 | (static_cast<unsigned char>(spelling[i + 1]) & 0x3FU);
    }
    if (length <= 2 && code < kByteOfCharacter.size() && kByteOfCharacter[code] >= 0) {
      bytes += static_cast<char>(kByteOfCharacter[code]);
    } else {
      bytes += spelling.substr(i, length);
    }
    i += length;
  }
}

void AppendSpaces(std::string_view spelling, std::string& bytes) {
  constexpr std::string_view kSpaceMark = "\u2581";
  while (!spelling.empty()) {
    if (spelling.starts_with(kSpaceMark)) {
      bytes += ' ';
      spelling.remove_prefix(kSpaceMark.size());
    } else {
      bytes += spelling[0];
      spelling.remove_prefix(1);
    }
  }
}

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<char> ByteSpelled(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') {
    return std::nullopt;
  }
  const auto high = HexDigit(spelling[3]);
  const auto low = HexDigit(spelling[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<char>(*high * 16 + *low);
}

}  // namespace

Result<Spellings> MakeTokenBytes(const Vocabulary& vocabulary, TokenSpelling spelling,
                                 const std::string& name) {
  Spellings table;
  std::string bytes;
  for (std::size_t id = 0; id < vocabulary.spellings.size(); ++id) {
    const std::string_view token = vocabulary.spellings[id];
    bytes.clear();
    switch (vocabulary.kinds[id]) {
      case TokenKind::kControl:
        break;
      case TokenKind::kByte: {
        const auto byte = ByteSpelled(token);
        if (!byte) {
          return InputError(name, "tokenizer.ggml.tokens[" + std::to_string(id) + "]",
                            "a byte token spelled '" + std::string(token) + "' and not <0xXX>");
        }
        bytes += *byte;
        break;
      }
      case TokenKind::kUserDefined:  // spelled as it is matched, whatever the family
      case TokenKind::kNormal:
      case TokenKind::kUnused:
        if (spelling == TokenSpelling::kSentencePiece) {
          AppendSpaces(token, bytes);
        } else if (vocabulary.kinds[id] == TokenKind::kUserDefined) {
          bytes = token;
        } else {
          AppendByteLevel(token, bytes);
        }
        break;
    }
    table.Add(bytes);
  }
  return table;
}

}  // namespace folio
