#include "folio/hub_environment.h"

#include <cstdlib>
#include <utility>

#include "store/model_source.h"

namespace folio {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

Result<HubEnvironment> ReadHubEnvironment() {
  HubEnvironment environment;
  if (std::string hub = Environment("HF_ENDPOINT"); !hub.empty()) {
    while (hub.ends_with('/')) hub.pop_back();
    if (UrlOrigin(hub).empty() || !hub.starts_with("http")) {
      return UsageError("HF_ENDPOINT", "", "'" + ShownUrl(hub) + "' is not a URL");
    }
    environment.hub = std::move(hub);
  }
  environment.token = Environment("HF_TOKEN");
  for (const char c : environment.token) {
    // Not shown: it is a secret. A line break in it would forge a header.
    if (c <= 0x20 || c >= 0x7f) {
      return UsageError("HF_TOKEN", "", "contains a character that no token has");
    }
  }
  return environment;
}

}  // namespace folio
