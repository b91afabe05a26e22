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

SentKeys KeysOf(const HttpRequest& request) {
  SentKeys keys;
  const std::string_view authorization = request.Field("authorization");
  if (StartsWithBearer(authorization)) keys.first = authorization.substr(kBearer.size());
  keys.second = request.Field("x-api-key");
  if (keys.first.empty()) std::swap(keys.first, keys.second);
  return keys;
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
  auto [key, other] = KeysOf(request);
  Caller caller;
  if (!keys->empty()) {
    auto known = keys->Find(key);
    if (!known && !other.empty()) {
      key = std::move(other);
      known = keys->Find(key);
    }
    if (!known) {
      return std::unexpected(
          ApiError{.kind = ApiError::Kind::kUnauthorized,
                   .message = key.empty() ? "a key is asked for: Authorization: Bearer KEY"
                                          : "this key is not known"});
    }
    caller.name = known->name;
    caller.max_requests = known->max_requests;
    caller.admin = known->admin;
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
