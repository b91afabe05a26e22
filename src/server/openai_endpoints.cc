// OpenAI's older endpoints: chat completions, completions, models.
#include <array>
#include <utility>

#include "api/chat_completion_writer.h"
#include "api/completion_writer.h"
#include "api/openai_request.h"
#include "server/endpoints.h"
#include "server/model_facts.h"

namespace folio {
namespace {

HttpReply ChatCompletions(ApiContext& context, ApiCall& call) {
  auto request = ReadChatCompletion(context, call);
  if (!request) return ErrorReply(call, request.error());
  auto writer = std::make_unique<ChatCompletionWriter>(*request);
  return Answer(context, call, *std::move(request), std::move(writer));
}

HttpReply Completions(ApiContext& context, ApiCall& call) {
  auto request = ReadCompletion(context, call);
  if (!request) return ErrorReply(call, request.error());
  auto writer = std::make_unique<CompletionWriter>(*request);
  return Answer(context, call, *std::move(request), std::move(writer));
}

HttpReply Models(ApiContext& context, ApiCall& /*call*/) {
  return JsonResponse(ModelListJson(context.models->List()));
}

HttpReply OneModel(ApiContext& context, ApiCall& call) {
  const std::string name = LastSegment(call.request.path);
  for (const ModelListing& model : context.models->List()) {
    if (model.id == name) return JsonResponse(ModelJson(model));
  }
  return ErrorReply(call, {.kind = ApiError::Kind::kNotFound,
                           .message = "the model '" + name + "' is not served here",
                           .param = "model"});
}

HttpReply Embeddings(ApiContext& /*context*/, ApiCall& call) {
  return ErrorReply(call, {.kind = ApiError::Kind::kInvalidRequest,
                           .message = "embeddings are not made here: this server generates text"});
}

}  // namespace

std::expected<ApiRequest, ApiError> ReadChatCompletion(ApiContext& context, const ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return std::unexpected(body.error());
  auto request = ParseChatCompletion(*body, {.drop_media = context.drop_media});
  if (!request) return std::unexpected(ApiErrorOf(request.error()));
  return *std::move(request);
}

std::expected<ApiRequest, ApiError> ReadCompletion(ApiContext& /*context*/, const ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return std::unexpected(body.error());
  auto request = ParseCompletion(*body);
  if (!request) return std::unexpected(ApiErrorOf(request.error()));
  return *std::move(request);
}

std::span<const ApiRoute> OpenAiRoutes() {
  static const std::array<ApiRoute, 5> kRoutes = {{
      {.method = "POST", .path = "/v1/chat/completions", .endpoint = ChatCompletions},
      {.method = "POST", .path = "/v1/completions", .endpoint = Completions},
      {.method = "POST", .path = "/v1/embeddings", .endpoint = Embeddings},
      {.method = "GET", .path = "/v1/models", .endpoint = Models},
      {.method = "GET", .path = "/v1/models/{id}", .endpoint = OneModel},
  }};
  return kRoutes;
}

}  // namespace folio
