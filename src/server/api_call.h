// One call of an API: the request, who makes it, and what its endpoint answers with.
#ifndef FOLIO_SERVER_API_CALL_H_
#define FOLIO_SERVER_API_CALL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/prefix_hygiene.h"
#include "api/response_store.h"
#include "formats/json.h"
#include "http/http_message.h"
#include "server/caller.h"
#include "server/model_host.h"
#include "server/reply_stream.h"
#include "server/server_metrics.h"
#include "server/start_reply.h"

namespace folio {

enum class Dialect { kOpenAi, kAnthropic };

// What all calls share.
struct ApiContext {
  // `store_bytes`: of all that is kept of requests and replies.
  explicit ApiContext(std::size_t store_bytes)
      : memory(store_bytes / 2), responses({.bytes = store_bytes / 2}) {}

  ModelHost* models = nullptr;
  Callers* callers = nullptr;
  ServerMetrics* metrics = nullptr;
  ReplyObserver observer;  // told what became of each request
  std::function<HttpServerCounts()> http_counts;
  HttpFields fields;  // of every reply's head
  ConversationMemory memory;
  ResponseStore responses;
  std::int64_t max_reply_tokens = 0;  // where a request names no limit; 0: what the context leaves
  bool drop_media = false;  // images and files become a note to the model, instead of an error
  PrefixHygiene hygiene;
};

struct ApiCall {
  HttpRequest request;
  Caller caller;
  std::string id;  // letters and digits, unlike any other call's
  Dialect dialect = Dialect::kOpenAi;
  std::shared_ptr<void> place;  // among the caller's requests, if it was taken already
};

using Endpoint = std::function<HttpReply(ApiContext& context, ApiCall& call)>;

// What a reply's head says of the call, for its logs.
HttpFields IdFields(Dialect dialect, const std::string& id);
HttpResponse JsonResponse(const Json& body, int status = 200);
// In the dialect's form, with the call's id for its logs and Retry-After where trying again helps.
HttpResponse ErrorReply(Dialect dialect, const std::string& id, const ApiError& error);
inline HttpResponse ErrorReply(const ApiCall& call, const ApiError& error) {
  return ErrorReply(call.dialect, call.id, error);
}

// The body as JSON.
std::expected<Json, ApiError> BodyOf(const ApiCall& call);

struct AnswerOptions {
  std::function<void(const Json& document)> keep;  // told the reply once it is whole
  std::optional<DiagnosticsQuestion> question;
};

// Runs a request that was read; `writer` tells its reply.
HttpReply Answer(ApiContext& context, ApiCall& call, ApiRequest request,
                 std::unique_ptr<ReplyWriter> writer, AnswerOptions options = {});

// Of the prompt that the request's conversation becomes if this caller sends it.
std::expected<std::int64_t, ApiError> CountPromptTokens(ApiContext& context, const Caller& caller,
                                                        ApiRequest request);

// Fields that name the conversation that a call belongs to, where the body doesn't.
std::string SessionOf(const HttpRequest& request);

}  // namespace folio

#endif  // FOLIO_SERVER_API_CALL_H_
