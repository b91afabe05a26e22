// Who may use the server: keys, of which only hashes are kept.
#ifndef FOLIO_SERVER_API_KEYS_H_
#define FOLIO_SERVER_API_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"

namespace folio {

struct ApiKey {
  std::string name;               // for logs and limits
  Sha256Digest digest{};          // of the key
  std::int64_t max_requests = 0;  // at the same time; 0 = no limit of its own
  bool admin = false;             // may do what concerns all: empty the cache
};

class ApiKeys {
 public:
  // A key file: one a line, `NAME SHA256 [max-requests=N] [admin]`, the hash in hexadecimal; empty
  // lines and those that begin with # are skipped. `source` names it in errors.
  static Result<ApiKeys> Parse(std::string_view text, const std::string& source);
  static Result<ApiKeys> Load(const std::string& path);

  bool empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  // The key, or nothing. Takes as long for every wrong one: all are compared, each in constant
  // time.
  std::optional<ApiKey> Find(std::string_view key) const;

 private:
  std::vector<ApiKey> keys_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_API_KEYS_H_
