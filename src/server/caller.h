// Who sent a request: by which key, and what of the cache it may see.
#ifndef FOLIO_SERVER_CALLER_H_
#define FOLIO_SERVER_CALLER_H_

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/api_error.h"
#include "http/http_message.h"
#include "server/api_keys.h"

namespace folio {

struct Caller {
  std::string name;               // of the key; empty where no keys are asked for
  std::string salt;               // of the cache, and the owner of what is stored
  std::int64_t max_requests = 0;  // at the same time; 0 = no limit
  bool admin = true;              // false where keys are asked for and this one is not marked so
};

// Thread safe.
class Callers {
 public:
  // Without `keys` all are let in; one who sends a key all the same has a cache of their own.
  // `shared_cache`: all see the same cache.
  Callers(ApiKeys keys, bool shared_cache);

  // Keys read again, for example.
  void Replace(ApiKeys keys);
  std::expected<Caller, ApiError> Identify(const HttpRequest& request) const;
  // A place among the caller's requests that run, given back when destroyed, which must be before
  // this is; none left is an error.
  std::expected<std::shared_ptr<void>, ApiError> TakePlace(const Caller& caller);

 private:
  bool shared_cache_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ApiKeys> keys_;
  std::map<std::string, std::int64_t> running_;  // requests of a key's name
};

// The keys in `Authorization: Bearer` and `x-api-key`, one of which may be a client's default: the
// first that is not empty, or empty; and the other.
struct SentKeys {
  std::string first, second;
};
SentKeys KeysOf(const HttpRequest& request);

}  // namespace folio

#endif  // FOLIO_SERVER_CALLER_H_
