// What each path answers. Paths are matched as they are spelled; "{id}" is any one segment.
#ifndef FOLIO_SERVER_ENDPOINTS_H_
#define FOLIO_SERVER_ENDPOINTS_H_

#include <span>
#include <string>
#include <string_view>

#include "server/api_call.h"

namespace folio {

struct Route {
  std::string_view method;
  std::string_view path;
  Endpoint endpoint;
  bool open = false;  // without a key, and while the server drains or loads
};

// All of them.
std::span<const Route> Routes();

bool MatchesPath(std::string_view pattern, std::string_view path);
// The segment where the pattern has "{id}": of "/v1/models/{id}", the model's name.
std::string LastSegment(std::string_view path);

// Of openai_endpoints.cc, anthropic_endpoints.cc, responses_endpoints.cc, plain_endpoints.cc.
std::span<const Route> OpenAiRoutes();
std::span<const Route> AnthropicRoutes();
std::span<const Route> ResponsesRoutes();
std::span<const Route> PlainRoutes();

}  // namespace folio

#endif  // FOLIO_SERVER_ENDPOINTS_H_
