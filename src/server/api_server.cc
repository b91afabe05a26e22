#include "server/api_server.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "api/sse_event.h"
#include "server/deferred_reply.h"

namespace folio {
namespace {

Dialect DialectOf(std::string_view path) {
  return path.starts_with("/v1/messages") ? Dialect::kAnthropic : Dialect::kOpenAi;
}

// Anthropic's SDK asks for models too, and says so.
Dialect DialectOf(const HttpRequest& request) {
  if (request.HasField("anthropic-version")) return Dialect::kAnthropic;
  return DialectOf(request.path);
}

std::string NewId() {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
  std::random_device device;
  std::string id;
  for (int word = 0; word < 4; ++word) {
    std::uint32_t bits = device();
    for (int i = 0; i < 6; ++i, bits >>= 5) id += kDigits[bits & 31];
  }
  return id;
}

const ApiRoute* FindRoute(const HttpRequest& request) {
  const auto routes = Routes();
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const auto found = std::ranges::find_if(routes, [&](const ApiRoute& route) {
    return route.method == method && MatchesPath(route.path, request.path);
  });
  return found == routes.end() ? nullptr : &*found;
}

// What the path takes: "GET, HEAD"; empty if nothing is there.
std::string AllowedAt(std::string_view path) {
  std::string allowed;
  for (const ApiRoute& route : Routes()) {
    if (!MatchesPath(route.path, path)) continue;
    if (!allowed.empty()) allowed += ", ";
    allowed += route.method;
    if (route.method == "GET") allowed += ", HEAD";
  }
  return allowed;
}

HttpResponse NoRoute(const HttpRequest& request, Dialect dialect) {
  const std::string allowed = AllowedAt(request.path);
  if (allowed.empty()) {
    return ErrorReply(
        dialect, NewId(),
        {.kind = ApiError::Kind::kNotFound, .message = "nothing is at " + request.path});
  }
  HttpResponse response =
      ErrorReply(dialect, NewId(),
                 {.kind = ApiError::Kind::kMethodNotAllowed,
                  .message = request.path + " takes " + allowed + ", not " + request.method});
  response.head.fields.emplace_back("Allow", allowed);
  return response;
}

ApiError::Kind KindOf(int status) {
  constexpr std::array<std::pair<int, ApiError::Kind>, 4> kKinds = {{
      {413, ApiError::Kind::kTooLarge},
      {415, ApiError::Kind::kUnsupportedMedia},
      {500, ApiError::Kind::kInternal},
      {503, ApiError::Kind::kUnavailable},
  }};
  const auto found = std::ranges::find(kKinds, status, &std::pair<int, ApiError::Kind>::first);
  return found == kKinds.end() ? ApiError::Kind::kInvalidRequest : found->second;
}

// Codex asks for a WebSocket first, and goes on with POST at once when it is told so.
HttpResponse NoWebSocket() {
  return {.head = {.status = 426, .fields = {{"Content-Type", "text/plain"}}},
          .body = "WebSockets are not spoken here: use POST\n"};
}

bool AsksForWebSocket(const HttpRequest& head) {
  std::string upgrade(head.Field("upgrade"));
  std::ranges::transform(upgrade, upgrade.begin(),
                         [](char c) { return static_cast<char>(c | 0x20); });
  return upgrade.find("websocket") != std::string::npos;
}

Json BodyOrNull(const ApiCall& call) {
  auto body = BodyOf(call);
  return body && body->is_object() ? *std::move(body) : Json::object();
}

std::string ModelAsked(const ApiCall& call) {
  const Json body = BodyOrNull(call);
  const auto model = body.find("model");
  return model != body.end() && model->is_string() ? model->get<std::string>() : "";
}

bool StreamAsked(const ApiCall& call) {
  const Json body = BodyOrNull(call);
  const auto stream = body.find("stream");
  return stream != body.end() && stream->is_boolean() && stream->get<bool>();
}

// "/v1/messages [ann] refused: 400 invalid_request_error, messages[0].role": of the error's text
// only what names a field, since the rest may quote the request.
std::string RefusalLine(const HttpRequest& head, const std::string& key,
                        const HttpResponse& response) {
  constexpr std::size_t kLongestPath = 80;
  const auto body = ParseJson(response.body);
  const Json error = body && body->is_object() ? body->value("error", Json()) : Json();
  const auto text = [&](const char* name) {
    const auto found = error.is_object() ? error.find(name) : error.end();
    return error.is_object() && found != error.end() && found->is_string()
               ? found->get<std::string>()
               : std::string();
  };
  std::string line = head.path.substr(0, kLongestPath);
  if (!key.empty()) line += " [" + key + "]";
  line += " refused: " + std::to_string(response.head.status);
  for (const char* name : {"type", "code", "param"}) {
    if (const std::string value = text(name); !value.empty()) {
      line += (name == std::string_view("type") ? " " : ", ") + value;
    }
  }
  return line;
}

// A refusal that comes after a stream's head, as the dialect's clients notice it.
std::string ErrorEvent(const ApiCall& call, const HttpResponse& refusal) {
  const auto body = ParseJson(refusal.body);
  const Json error = body ? *body : Json::object();
  if (call.dialect == Dialect::kAnthropic) return SseEvent("error", error);
  if (!call.request.path.starts_with("/v1/responses")) return SseData(error);
  return SseEvent("response.failed", {{"type", "response.failed"},
                                      {"sequence_number", 0},
                                      {"response",
                                       {{"id", "resp_" + call.id},
                                        {"object", "response"},
                                        {"status", "failed"},
                                        {"output", Json::array()},
                                        {"error", error.value("error", Json())}}}});
}

}  // namespace

ApiServer::ApiServer(ModelHost& models, Callers& callers, ServerMetrics& metrics,
                     ApiServerOptions options)
    : context_(options.store_bytes), options_(std::move(options)) {
  context_.models = &models;
  context_.callers = &callers;
  context_.metrics = &metrics;
  context_.observer = options_.observer;
  context_.http_counts = options_.http_counts;
  context_.memory.splices = options_.splices;
  context_.drop_media = options_.drop_media;
  context_.max_reply_tokens = options_.max_reply_tokens;
  context_.hygiene = options_.hygiene;
  if (options_.cors_origin.empty()) return;
  context_.fields = {{"Access-Control-Allow-Origin", options_.cors_origin},
                     {"Access-Control-Expose-Headers", "x-request-id, request-id, x-folio-cache"}};
}

HttpResponse ApiServer::WithCors(HttpResponse response) const {
  HttpFields& fields = response.head.fields;
  fields.insert(fields.end(), context_.fields.begin(), context_.fields.end());
  return response;
}

HttpResponse ApiServer::Sent(const HttpRequest& head, const std::string& key,
                             HttpResponse response) const {
  if (response.head.status >= 400) {
    context_.metrics->NoteRefusal(response.head.status);
    if (options_.refused) options_.refused(RefusalLine(head, key, response));
  }
  return WithCors(std::move(response));
}

std::optional<HttpResponse> ApiServer::AnswerHead(const HttpRequest& head) {
  if (head.method == "OPTIONS" && !options_.cors_origin.empty()) {
    return WithCors({.head = {.status = 204,
                              .fields = {{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
                                         {"Access-Control-Allow-Headers", "*"},
                                         {"Access-Control-Max-Age", "86400"}}}});
  }
  if (AsksForWebSocket(head)) return NoWebSocket();
  const Dialect dialect = DialectOf(head);
  const auto refuse = [&](const ApiError& error) {
    return Sent(head, "", ErrorReply(dialect, NewId(), error));
  };
  const ApiRoute* route = FindRoute(head);
  if (route == nullptr) return Sent(head, "", NoRoute(head, dialect));
  if (route->handling == Handling::kAtOnce) return AnswerAtOnce(*route, head, dialect);
  if (auto caller = context_.callers->Identify(head); !caller) return refuse(caller.error());
  if (draining_) {
    return refuse({.kind = ApiError::Kind::kUnavailable, .message = "the server is ending"});
  }
  return std::nullopt;
}

HttpResponse ApiServer::AnswerAtOnce(const ApiRoute& route, const HttpRequest& head,
                                     Dialect dialect) {
  ApiCall call{.request = head, .id = NewId(), .dialect = dialect};
  return WithCors(std::get<HttpResponse>(route.endpoint(context_, call)));
}

bool ApiServer::IsAside(const HttpRequest& head) {
  const ApiRoute* route = FindRoute(head);
  return route != nullptr && route->handling == Handling::kAside;
}

HttpReply ApiServer::Handle(HttpRequest request) {
  ApiCall call{.id = NewId(), .dialect = DialectOf(request)};
  call.request = std::move(request);
  const ApiRoute* route = FindRoute(call.request);
  if (route == nullptr) return NoRoute(call.request, call.dialect);
  auto caller = context_.callers->Identify(call.request);
  if (!caller) return ErrorReply(call, caller.error());
  call.caller = *std::move(caller);
  if (route->handling == Handling::kWorker && MustWait(call)) return Defer(*route, std::move(call));
  HttpReply reply = route->endpoint(context_, call);
  if (auto* whole = std::get_if<HttpResponse>(&reply)) {
    return Sent(call.request, call.caller.name, std::move(*whole));
  }
  return reply;
}

// Of a server with one model there is nothing to wait for.
bool ApiServer::MustWait(const ApiCall& call) const {
  if (context_.models->size() == 1 || call.request.method != "POST") return false;
  return context_.models->MustWait(ModelAsked(call));
}

// One that waits counts among its caller's.
HttpReply ApiServer::Defer(const ApiRoute& route, ApiCall call) {
  auto place = context_.callers->TakePlace(call.caller);
  if (!place) return Sent(call.request, call.caller.name, ErrorReply(call, place.error()));
  call.place = *std::move(place);
  const auto kept = std::make_shared<ApiCall>(std::move(call));
  const std::weak_ptr<ApiCall> wanted = kept;  // its place is free as soon as the client has left
  return std::make_unique<DeferredReply>(
      *context_.models,
      DeferredReply::Parts{
          .model = ModelAsked(*kept),
          .stream = StreamAsked(*kept),
          .fields = WithCors({.head = {.fields = IdFields(kept->dialect, kept->id)}}).head.fields,
          .answer = [this, &route, wanted] { return AnswerDeferred(route, wanted.lock()); },
          .refuse =
              [this, wanted](const ApiError& error) {
                const auto of = wanted.lock();
                return of == nullptr ? HttpResponse{}
                                     : Sent(of->request, of->caller.name, ErrorReply(*of, error));
              },
          .as_event = [kept](const HttpResponse& refusal) { return ErrorEvent(*kept, refusal); }});
}

HttpReply ApiServer::AnswerDeferred(const ApiRoute& route, const std::shared_ptr<ApiCall>& call) {
  if (call == nullptr) return HttpResponse{};  // nobody is there to read it
  HttpReply reply = route.endpoint(context_, *call);
  if (auto* whole = std::get_if<HttpResponse>(&reply)) {
    return Sent(call->request, call->caller.name, std::move(*whole));
  }
  return reply;
}

HttpResponse ApiServer::Failure(const HttpRequest& head, int status, std::string_view why) {
  HttpResponse response =
      ErrorReply(DialectOf(head), NewId(), {.kind = KindOf(status), .message = std::string(why)});
  response.head.status = status;
  return WithCors(std::move(response));
}

}  // namespace folio
