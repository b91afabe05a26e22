#include "store/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace folio {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool healthy = false;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { Reset(); }

Sha256::~Sha256() { EVP_MD_CTX_free(state_->context); }

void Sha256::Reset() {
  state_->healthy =
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1;
}

void Sha256::Update(std::span<const char> bytes) {
  state_->healthy =
      state_->healthy && EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1;
}

std::string Sha256::Finish() {
  std::array<unsigned char, 32> digest{};
  const bool done =
      state_->healthy && EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1;
  Reset();
  if (!done) return {};
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kHex[byte >> 4];
    hex += kHex[byte & 15];
  }
  return hex;
}

bool IsSha256Hex(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace folio
