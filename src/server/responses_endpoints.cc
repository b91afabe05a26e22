// OpenAI's Responses API.
#include <array>
#include <charconv>
#include <utility>

#include "api/response_store.h"
#include "api/responses_request.h"
#include "api/responses_writer.h"
#include "server/endpoints.h"

namespace folio {
namespace {

// The request, with what the store has of the turns before.
std::expected<ResponsesRequest, ApiError> Read(ApiContext& context, const ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return std::unexpected(body.error());
  auto found = context.responses.Find(call.caller.salt, *body);
  if (!found) return std::unexpected(found.error());
  auto request = ParseResponses(*body, {.drop_media = context.drop_media,
                                        .earlier = std::move(found->earlier),
                                        .referred = std::move(found->referred)});
  if (!request) return std::unexpected(ApiErrorOf(request.error()));
  return *std::move(request);
}

HttpReply Responses(ApiContext& context, ApiCall& call) {
  auto request = Read(context, call);
  if (!request) return ErrorReply(call, request.error());
  auto writer = std::make_unique<ResponsesWriter>(*request);
  AnswerOptions options;
  if (!request->comparison_response_id.empty()) {
    options.question = {.form = DiagnosticsQuestion::Form::kOpenAi,
                        .earlier_id = request->comparison_response_id};
  }
  if (request->store) {
    options.keep = [&store = context.responses, owner = call.caller.salt,
                    items = std::move(request->items)](const Json& document) {
      store.Put(owner, document, items);
    };
  }
  return Answer(context, call, std::move(request->api), std::move(writer), std::move(options));
}

HttpReply InputTokens(ApiContext& context, ApiCall& call) {
  auto request = Read(context, call);
  if (!request) return ErrorReply(call, request.error());
  const auto tokens = CountPromptTokens(context, call.caller, std::move(request->api));
  if (!tokens) return ErrorReply(call, tokens.error());
  return JsonResponse(ResponsesInputTokensJson(*tokens));
}

HttpReply Told(const ApiCall& call, const std::expected<Json, ApiError>& answer) {
  return answer ? JsonResponse(*answer) : ErrorReply(call, answer.error());
}

HttpReply GetResponse(ApiContext& context, ApiCall& call) {
  return Told(call, context.responses.Get(call.caller.salt, LastSegment(call.request.path)));
}

HttpReply DeleteResponse(ApiContext& context, ApiCall& call) {
  return Told(call, context.responses.Delete(call.caller.salt, LastSegment(call.request.path)));
}

HttpReply InputItems(ApiContext& context, ApiCall& call) {
  constexpr std::string_view kSuffix = "/input_items";
  const std::string_view path = call.request.path;
  const std::string id = LastSegment(path.substr(0, path.size() - kSuffix.size()));
  ResponseStore::Page page;
  page.after = QueryField(call.request.query, "after");
  page.ascending = QueryField(call.request.query, "order") == "asc";
  const std::string_view limit = QueryField(call.request.query, "limit");
  std::size_t count = page.limit;
  std::from_chars(limit.data(), limit.data() + limit.size(), count);
  page.limit = std::clamp<std::size_t>(count, 1, 100);
  return Told(call, context.responses.InputItems(call.caller.salt, id, page));
}

}  // namespace

std::expected<ApiRequest, ApiError> ReadResponses(ApiContext& context, const ApiCall& call) {
  auto request = Read(context, call);
  if (!request) return std::unexpected(request.error());
  return std::move(request->api);
}

std::span<const ApiRoute> ResponsesRoutes() {
  static const std::array<ApiRoute, 5> kRoutes = {{
      {.method = "POST", .path = "/v1/responses", .endpoint = Responses},
      {.method = "POST", .path = "/v1/responses/input_tokens", .endpoint = InputTokens},
      {.method = "GET", .path = "/v1/responses/{id}", .endpoint = GetResponse},
      {.method = "DELETE", .path = "/v1/responses/{id}", .endpoint = DeleteResponse},
      {.method = "GET", .path = "/v1/responses/{id}/input_items", .endpoint = InputItems},
  }};
  return kRoutes;
}

}  // namespace folio
