#include "server/caller.h"

#include <utility>

namespace folio {
namespace {

constexpr std::string_view kBearer = "bearer ";

bool StartsWithBearer(std::string_view field) {
  if (field.size() < kBearer.size()) return false;
  for (std::size_t i = 0; i < kBearer.size(); ++i) {
    if ((field[i] | 0x20) != (kBearer[i] | 0x20)) return false;
  }
  return true;
}

std::string HashOf(std::string_view key) {
  Sha256 hasher;
  hasher.Update(key);
  return hasher.HexDigest();
}

}  // namespace

std::string KeyOf(const HttpRequest& request) {
  const std::string_view authorization = request.Field("authorization");
  if (StartsWithBearer(authorization)) return std::string(authorization.substr(kBearer.size()));
  return std::string(request.Field("x-api-key"));
}

Callers::Callers(ApiKeys keys, bool shared_cache)
    : shared_cache_(shared_cache), keys_(std::make_shared<const ApiKeys>(std::move(keys))) {}

void Callers::Replace(ApiKeys keys) {
  auto fresh = std::make_shared<const ApiKeys>(std::move(keys));
  const std::lock_guard lock(mutex_);
  keys_ = std::move(fresh);
}

std::expected<Caller, ApiError> Callers::Identify(const HttpRequest& request) const {
  std::shared_ptr<const ApiKeys> keys;
  {
    const std::lock_guard lock(mutex_);
    keys = keys_;
  }
  const std::string key = KeyOf(request);
  Caller caller;
  if (!keys->empty()) {
    const auto known = keys->Find(key);
    if (!known) {
      return std::unexpected(
          ApiError{.kind = ApiError::Kind::kUnauthorized,
                   .message = key.empty() ? "a key is asked for: Authorization: Bearer KEY"
                                          : "this key is not known"});
    }
    caller.name = known->name;
    caller.max_requests = known->max_requests;
  }
  if (!key.empty() && !shared_cache_) caller.salt = HashOf(key);
  return caller;
}

std::expected<std::shared_ptr<void>, ApiError> Callers::TakePlace(const Caller& caller) {
  if (caller.max_requests == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  std::int64_t& running = running_[caller.name];
  if (running >= caller.max_requests) {
    return std::unexpected(ApiError{.kind = ApiError::Kind::kRateLimited,
                                    .message = "this key has " + std::to_string(running) +
                                               " requests running, the most that it may"});
  }
  ++running;
  return std::shared_ptr<void>(this, [this, name = caller.name](void*) {
    const std::lock_guard again(mutex_);
    --running_[name];
  });
}

}  // namespace folio
