// The cache: computed ahead of time, explained, forgotten.
#include <array>
#include <utility>

#include "server/endpoints.h"
#include "server/miss_explanation.h"
#include "server/warm_writer.h"

namespace folio {
namespace {

// What a client posts anyway, told by what its body has: Anthropic's clients name their version.
using Reader = std::expected<ApiRequest, ApiError> (*)(ApiContext& context, const ApiCall& call);

struct ReaderOf {
  std::string_view path;
  Reader read;
};
constexpr std::array<ReaderOf, 4> kReaders = {{
    {.path = "/v1/chat/completions", .read = ReadChatCompletion},
    {.path = "/v1/completions", .read = ReadCompletion},
    {.path = "/v1/responses", .read = ReadResponses},
    {.path = "/v1/messages", .read = ReadMessages},
}};

std::string PathFor(const ApiCall& call, const Json& body) {
  if (const std::string_view path = QueryField(call.request.query, "for"); !path.empty()) {
    return std::string(path);
  }
  if (body.contains("input")) return "/v1/responses";
  if (body.contains("prompt")) return "/v1/completions";
  return call.dialect == Dialect::kAnthropic ? "/v1/messages" : "/v1/chat/completions";
}

// Of the whole prompt unless the request has marks of its own; no reply is drawn.
void MakeWarming(ApiRequest& request) {
  request.stream = false;
  request.tells_nothing = true;
  request.request.max_tokens = 0;
  request.request.choices = 1;
  request.request.sampling.logprobs = false;
  if (!request.marks.empty() || !request.messages.is_array()) return;
  const auto messages = static_cast<std::int64_t>(request.messages.size());
  request.marks.push_back({.message = messages - 1, .retention = CacheRetention::k1Hour});
}

// Computes a request's prompt, so that the request finds it. The body is the request's own;
// `?for=/v1/messages` says whose where the body doesn't.
HttpReply Warm(ApiContext& context, ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return ErrorReply(call, body.error());
  const std::string path = PathFor(call, *body);
  const auto found = std::ranges::find(kReaders, path, &ReaderOf::path);
  if (found == kReaders.end()) {
    return ErrorReply(call, {.kind = ApiError::Kind::kInvalidRequest,
                             .message = "for: '" + path + "' has no prompts: name one of " +
                                        "/v1/chat/completions, /v1/completions, /v1/responses " +
                                        "and /v1/messages",
                             .param = "for"});
  }
  if (path == "/v1/messages") call.dialect = Dialect::kAnthropic;
  auto request = found->read(context, call);
  if (!request) return ErrorReply(call, request.error());
  MakeWarming(*request);
  return Answer(context, call, *std::move(request), std::make_unique<WarmWriter>());
}

// Why the prompt of a reply was not found in the cache as a whole: to the key that sent it.
HttpReply Explain(ApiContext& context, ApiCall& call) {
  const std::string id = LastSegment(call.request.path);
  const PromptArchive& archive = context.memory.archive;
  const auto found = archive.Find(call.caller.salt, id);
  if (!found) {
    return ErrorReply(call, {.kind = ApiError::Kind::kNotFound,
                             .message = "no prompt of '" + id + "' is known any more"});
  }
  const auto model = context.models->Find(found->prompt->model);
  if (!model) return ErrorReply(call, model.error());
  const auto nearest =
      archive.FindByEngine(call.caller.salt, found->prompt->model, found->report.nearest_request);
  return JsonResponse(ExplanationJson(*found, nearest, **model));
}

// Forgets the blocks that nobody holds, of all callers: for the one who runs the server.
HttpReply ResetCache(ApiContext& context, ApiCall& call) {
  if (!call.caller.admin) {
    return ErrorReply(call, {.kind = ApiError::Kind::kForbidden,
                             .message = "this key may not empty the cache of all: its line in the "
                                        "file of keys has no 'admin'"});
  }
  std::int64_t blocks = 0;
  for (const auto& model : context.models->AllLoaded()) blocks += model->engine().ResetCache();
  return JsonResponse({{"blocks", blocks}});
}

}  // namespace

std::span<const ApiRoute> CacheRoutes() {
  static const std::array<ApiRoute, 3> kRoutes = {{
      {.method = "POST", .path = "/v1/cache/warm", .endpoint = Warm},
      {.method = "GET", .path = "/v1/cache/explain/{id}", .endpoint = Explain},
      {.method = "POST",
       .path = "/cache/reset",
       .endpoint = ResetCache,
       .handling = Handling::kAside},
  }};
  return kRoutes;
}

}  // namespace folio
