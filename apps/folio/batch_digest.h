// Which request a record of a batch belongs to, in 16 bytes: the first half of a SHA-256.
#ifndef FOLIO_APPS_FOLIO_BATCH_DIGEST_H_
#define FOLIO_APPS_FOLIO_BATCH_DIGEST_H_

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace folio {

struct BatchDigest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const BatchDigest&) const = default;
  std::string Hex() const;  // 32 digits
};

// Of the parts and where each ends.
BatchDigest DigestOf(std::initializer_list<std::string_view> parts);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BATCH_DIGEST_H_
