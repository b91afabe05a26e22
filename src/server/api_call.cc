#include "server/api_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "api/anthropic_error.h"
#include "api/openai_error.h"
#include "server/rendered_request.h"

namespace folio {
namespace {

constexpr double kLeastRetrySeconds = 2;
constexpr double kMostRetrySeconds = 600;

// Whole seconds, as the field has them (RFC 9110, 10.2.3).
std::string RetryAfter(const ApiError& error) {
  const double seconds =
      std::clamp(error.retry_after_seconds, kLeastRetrySeconds, kMostRetrySeconds);
  return std::to_string(std::llround(std::ceil(seconds)));
}

void Tidy(ApiContext& context, const Caller& caller, ApiRequest& request) {
  for (std::string& done : TidyPrefix(request, context.hygiene)) {
    AddNote(request.notes, std::move(done));
  }
  if (context.hygiene.keep_session_tools) context.memory.tools.Apply(caller.salt, request);
}

}  // namespace

HttpFields IdFields(Dialect dialect, const std::string& id) {
  return {{dialect == Dialect::kAnthropic ? "request-id" : "x-request-id", "req_" + id}};
}

HttpResponse JsonResponse(const Json& body, int status) {
  return {.head = {.status = status, .fields = {{"Content-Type", "application/json"}}},
          .body = DumpJson(body)};
}

HttpResponse ErrorReply(Dialect dialect, const std::string& id, const ApiError& error) {
  HttpResponse response =
      JsonResponse(dialect == Dialect::kAnthropic ? AnthropicErrorJson(error, "req_" + id)
                                                  : OpenAiErrorJson(error),
                   HttpStatusOf(error));
  HttpFields& fields = response.head.fields;
  for (auto& field : IdFields(dialect, id)) fields.push_back(std::move(field));
  const bool retry =
      error.kind == ApiError::Kind::kUnavailable || error.kind == ApiError::Kind::kRateLimited;
  if (retry) fields.emplace_back("Retry-After", RetryAfter(error));
  if (error.kind == ApiError::Kind::kUnauthorized) {
    fields.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

std::expected<Json, ApiError> BodyOf(const ApiCall& call) {
  // A conversation of more messages, parts and tools fits no context, but takes long to find that.
  constexpr JsonLimits kLimits{.containers = std::size_t{64} << 10};
  auto body = ParseJson(call.request.body, kLimits);
  if (!body) return std::unexpected(ApiErrorOf(body.error()));
  return *std::move(body);
}

std::string SessionOf(const HttpRequest& request) {
  constexpr std::array<std::string_view, 3> kNames = {"x-session-id", "thread-id", "session-id"};
  for (const std::string_view name : kNames) {
    if (const std::string_view value = request.Field(name); !value.empty()) {
      return std::string(value);
    }
  }
  return {};
}

std::expected<std::int64_t, ApiError> CountPromptTokens(ApiContext& context, const Caller& caller,
                                                        ApiRequest request) {
  const auto model = context.models->Find(request.model);
  if (!model) return std::unexpected(model.error());
  Tidy(context, caller, request);
  return PromptTokens(**model, request, EditOf(**model, caller.salt, request, context.memory));
}

HttpReply Answer(ApiContext& context, ApiCall& call, ApiRequest request,
                 std::unique_ptr<ReplyWriter> writer, AnswerOptions options) {
  const auto refuse = [&call](const ApiError& error) -> HttpReply {
    return ErrorReply(call, error);
  };
  auto model = context.models->Find(request.model);
  if (!model) return refuse(model.error());
  if (call.place == nullptr) {
    auto place = context.callers->TakePlace(call.caller);
    if (!place) return refuse(place.error());
    call.place = *std::move(place);
  }
  Tidy(context, call.caller, request);
  if (request.request.max_tokens < 0 && context.max_reply_tokens > 0) {
    request.request.max_tokens = context.max_reply_tokens;
  }
  if (request.session.empty()) request.session = SessionOf(call.request);
  HttpFields fields = IdFields(call.dialect, call.id);
  fields.insert(fields.end(), context.fields.begin(), context.fields.end());
  auto reply = StartReply(
      {.model = *std::move(model),
       .request = std::move(request),
       .writer = std::move(writer),
       .id = call.id,
       .endpoint = call.request.path,
       .key = call.caller.name,
       .salt = call.caller.salt,
       .fields = std::move(fields),
       .error_response = [dialect = call.dialect, id = call.id](
                             const ApiError& error) { return ErrorReply(dialect, id, error); },
       .observer = context.observer,
       .keep = std::move(options.keep),
       .place = std::move(call.place),
       .question = std::move(options.question)},
      context.memory);
  if (!reply) return refuse(reply.error());
  return *std::move(reply);
}

}  // namespace folio
