// SHA-256 (FIPS 180-4) of a stream, by OpenSSL.
#ifndef FOLIO_BASE_SHA256_H_
#define FOLIO_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace folio {

using Sha256Digest = std::array<std::uint8_t, 32>;

// 64 lower-case hex digits.
std::string HexOf(const Sha256Digest& digest);

// True for 64 hex digits of either case.
bool IsSha256Hex(std::string_view text);

// One state, used again after each digest: a short message costs its hashing and little more.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Reset();
  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text) { Update(std::as_bytes(std::span(text))); }

  // Of what came since the last Reset; resets. Nothing if OpenSSL failed.
  std::optional<Sha256Digest> Digest();
  // The same in hex digits; empty if OpenSSL failed.
  std::string HexDigest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace folio

#endif  // FOLIO_BASE_SHA256_H_
