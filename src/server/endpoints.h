// What each path answers. Paths are matched as they are spelled; "{id}" is any one segment.
#ifndef FOLIO_SERVER_ENDPOINTS_H_
#define FOLIO_SERVER_ENDPOINTS_H_

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "server/api_call.h"

namespace folio {

enum class Handling : std::uint8_t {
  kWorker,
  kAside,   // waits for the engines, and computes nothing: on a thread of its own
  kAtOnce,  // by the network thread: without a body, a key or any wait, also while the server
            // drains or loads
};

struct ApiRoute {
  std::string_view method;
  std::string_view path;
  Endpoint endpoint;
  Handling handling = Handling::kWorker;
};

// All of them.
std::span<const ApiRoute> Routes();

bool MatchesPath(std::string_view pattern, std::string_view path);
// The value of a query's field, or empty. Ids, paths and numbers need no decoding.
std::string_view QueryField(std::string_view query, std::string_view name);
// The segment where the pattern has "{id}": of "/v1/models/{id}", the model's name.
std::string LastSegment(std::string_view path);

// The request in a call's body, of one dialect each: what is to be computed, and no more.
std::expected<ApiRequest, ApiError> ReadChatCompletion(ApiContext& context, const ApiCall& call);
std::expected<ApiRequest, ApiError> ReadCompletion(ApiContext& context, const ApiCall& call);
std::expected<ApiRequest, ApiError> ReadMessages(ApiContext& context, const ApiCall& call);
std::expected<ApiRequest, ApiError> ReadResponses(ApiContext& context, const ApiCall& call);

// Each of the file of its name: openai_endpoints.cc and so on.
std::span<const ApiRoute> OpenAiRoutes();
std::span<const ApiRoute> AnthropicRoutes();
std::span<const ApiRoute> ResponsesRoutes();
std::span<const ApiRoute> CacheRoutes();
std::span<const ApiRoute> PlainRoutes();

}  // namespace folio

#endif  // FOLIO_SERVER_ENDPOINTS_H_
