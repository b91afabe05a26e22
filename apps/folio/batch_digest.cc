#include "folio/batch_digest.h"

#include <cstddef>

#include "base/sha256.h"

namespace folio {
namespace {

std::string Hex16(std::uint64_t value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) {
    *digit = kHex[value & 15];
  }
  return text;
}

// The eight bytes from `at` on, the first the highest.
std::uint64_t BigEndian(const Sha256Digest& digest, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + 8; ++i) value = value << 8 | digest[i];
  return value;
}

}  // namespace

std::string BatchDigest::Hex() const { return Hex16(high) + Hex16(low); }

BatchDigest DigestOf(std::initializer_list<std::string_view> parts) {
  Sha256 hash;
  for (const std::string_view part : parts) {
    hash.Update(Hex16(part.size()));
    hash.Update(part);
  }
  const Sha256Digest digest = hash.Digest().value_or(Sha256Digest{});
  return {BigEndian(digest, 0), BigEndian(digest, 8)};
}

}  // namespace folio
