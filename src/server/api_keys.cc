#include "server/api_keys.h"

#include <openssl/crypto.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace folio {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;
constexpr std::string_view kMaxRequests = "max-requests=";

int HexValue(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

Sha256Digest DigestOf(std::string_view hex) {
  Sha256Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(HexValue(hex[2 * i]) * 16 + HexValue(hex[2 * i + 1]));
  }
  return digest;
}

// What is wrong with the option, or empty.
std::string ReadOption(std::string_view option, ApiKey& key) {
  if (option == "admin") {
    key.admin = true;
    return "";
  }
  if (!option.starts_with(kMaxRequests)) return "'" + std::string(option) + "' is no option";
  const std::string_view digits = option.substr(kMaxRequests.size());
  const auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), key.max_requests);
  const bool whole = code == std::errc() && end == digits.data() + digits.size();
  return whole && key.max_requests > 0 ? ""
                                       : "'" + std::string(digits) + "' is no number of requests";
}

// What is wrong with the line, or empty.
std::string ReadLine(const std::string& line, ApiKey& key) {
  std::istringstream words(line);
  std::string hash;
  words >> key.name >> hash;
  if (!IsSha256Hex(hash)) return "has no SHA-256 in hexadecimal after the name";
  key.digest = DigestOf(hash);
  for (std::string option; words >> option;) {
    if (std::string why = ReadOption(option, key); !why.empty()) return why;
  }
  return "";
}

}  // namespace

Result<ApiKeys> ApiKeys::Parse(std::string_view text, const std::string& source) {
  ApiKeys keys;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    ApiKey key;
    if (std::string why = ReadLine(line, key); !why.empty()) {
      return InputError(source, "line " + std::to_string(number), std::move(why));
    }
    keys.keys_.push_back(std::move(key));
  }
  if (keys.empty()) return InputError(source, "", "has no key");
  return keys;
}

Result<ApiKeys> ApiKeys::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InputError(path, "", "can't be read");
  std::string text;
  text.resize(kMostFileBytes + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostFileBytes) return InputError(path, "", "is larger than a file of keys");
  return Parse(text, path);
}

std::optional<ApiKey> ApiKeys::Find(std::string_view key) const {
  Sha256 hasher;
  hasher.Update(key);
  const std::optional<Sha256Digest> digest = hasher.Digest();
  if (!digest) return std::nullopt;
  const ApiKey* found = nullptr;
  for (const ApiKey& candidate : keys_) {
    if (CRYPTO_memcmp(candidate.digest.data(), digest->data(), digest->size()) == 0) {
      found = &candidate;
    }
  }
  if (found == nullptr) return std::nullopt;
  return *found;
}

}  // namespace folio
