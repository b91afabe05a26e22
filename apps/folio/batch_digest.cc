#include "folio/batch_digest.h"

#include <charconv>

#include "store/sha256.h"

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

std::uint64_t FromHex16(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

}  // namespace

std::string BatchDigest::Hex() const { return Hex16(high) + Hex16(low); }

BatchDigest DigestOf(std::initializer_list<std::string_view> parts) {
  Sha256 hash;
  for (const std::string_view part : parts) {
    const std::string size = Hex16(part.size());
    hash.Update({size.data(), size.size()});
    hash.Update({part.data(), part.size()});
  }
  const std::string hex = hash.Finish();
  return {FromHex16(std::string_view(hex).substr(0, 16)),
          FromHex16(std::string_view(hex).substr(16, 16))};
}

}  // namespace folio
