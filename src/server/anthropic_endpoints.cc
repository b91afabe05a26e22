// Anthropic's Messages.
#include <array>
#include <utility>

#include "api/anthropic_request.h"
#include "api/anthropic_writer.h"
#include "api/prefix_hygiene.h"
#include "server/endpoints.h"
#include "server/rendered_request.h"

namespace folio {
namespace {

HttpReply Messages(ApiContext& context, ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return ErrorReply(call, body.error());
  auto request = ParseMessages(*body, {.drop_media = context.drop_media});
  if (!request) return ErrorReply(call, request.error());
  auto writer = std::make_unique<AnthropicWriter>(request->reply);
  if (request->reply.max_tokens == 0) {
    // The engine's least is one token: it is drawn, and not told.
    request->api.request.max_tokens = 1;
    request->api.tells_nothing = true;
  }
  AnswerOptions options;
  // The first message of a conversation has none before it: there is nothing to compare.
  if (request->wants_diagnostics && !request->previous_message_id.empty()) {
    options.question = {.form = DiagnosticsQuestion::Form::kAnthropic,
                        .earlier_id = request->previous_message_id};
  }
  return Answer(context, call, std::move(request->api), std::move(writer), std::move(options));
}

HttpReply CountTokens(ApiContext& context, ApiCall& call) {
  auto request = ReadMessages(context, call);
  if (!request) return ErrorReply(call, request.error());
  const auto tokens = CountPromptTokens(context, call.caller, *std::move(request));
  if (!tokens) return ErrorReply(call, tokens.error());
  return JsonResponse(CountTokensJson(*tokens));
}

}  // namespace

// As count_tokens takes it: without what only a reply needs.
std::expected<ApiRequest, ApiError> ReadMessages(ApiContext& context, const ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return std::unexpected(body.error());
  auto request = ParseCountTokens(*body, {.drop_media = context.drop_media});
  if (!request) return std::unexpected(request.error());
  return std::move(request->api);
}

std::span<const ApiRoute> AnthropicRoutes() {
  static const std::array<ApiRoute, 2> kRoutes = {{
      {.method = "POST", .path = "/v1/messages", .endpoint = Messages},
      {.method = "POST", .path = "/v1/messages/count_tokens", .endpoint = CountTokens},
  }};
  return kRoutes;
}

}  // namespace folio
