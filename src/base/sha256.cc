#include "base/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>

namespace folio {

struct Sha256::State {
  State() = default;
  ~State() {
    EVP_MD_CTX_free(context);
    EVP_MD_free(algorithm);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool healthy = algorithm != nullptr && context != nullptr &&
                 EVP_DigestInit_ex(context, algorithm, nullptr) == 1;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Reset() {
  // No algorithm: the same as before, which skips OpenSSL's search for an implementation.
  state_->healthy = state_->healthy && EVP_DigestInit_ex(state_->context, nullptr, nullptr) == 1;
}

void Sha256::Update(std::span<const std::byte> bytes) {
  state_->healthy =
      state_->healthy && EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1;
}

std::optional<Sha256Digest> Sha256::Digest() {
  Sha256Digest digest{};
  const bool done =
      state_->healthy && EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1;
  Reset();
  if (!done) return std::nullopt;
  return digest;
}

std::string Sha256::HexDigest() {
  const std::optional<Sha256Digest> digest = Digest();
  return digest ? HexOf(*digest) : std::string();
}

std::string HexOf(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

bool IsSha256Hex(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace folio
