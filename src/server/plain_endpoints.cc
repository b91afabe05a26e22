// Folio's own endpoints: health, metrics, tokens.
#include <array>
#include <utility>
#include <vector>

#include "api/fields.h"
#include "server/endpoints.h"

namespace folio {
namespace {

HttpReply Health(ApiContext& /*context*/, ApiCall& /*call*/) {
  return JsonResponse({{"status", "ok"}});
}

HttpReply Ready(ApiContext& context, ApiCall& call) {
  if (context.models->ready()) return JsonResponse({{"status", "ready"}});
  return ErrorReply(call, {.kind = ApiError::Kind::kUnavailable,
                           .message = "the model is being loaded: try again"});
}

HttpReply Metrics(ApiContext& context, ApiCall& /*call*/) {
  const HttpServerCounts http = context.http_counts ? context.http_counts() : HttpServerCounts{};
  return HttpResponse{
      .head = {.fields = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}},
      .body = context.metrics->Expose(*context.models, http)};
}

// {model, content, add_special?} -> {tokens, count}, as llama.cpp's server has it; `prompt` is
// vLLM's name of content.
HttpReply Tokenize(ApiContext& context, ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return ErrorReply(call, body.error());
  std::optional<Error> refusal;
  Fields fields(*body, "", refusal);
  const std::string name = fields.Text("model").value_or("");
  auto text = fields.Text("content");
  if (!text) text = fields.Text("prompt");
  if (!text) fields.Refuse("content", "is missing");
  if (refusal) return ErrorReply(call, ApiErrorOf(*refusal));
  const auto model = context.models->Find(name);
  if (!model) return ErrorReply(call, model.error());
  const auto tokens = (*model)->engine().Tokenize(*text);
  if (!tokens) return ErrorReply(call, ApiErrorOf(tokens.error()));
  Json pieces = Json::array();
  for (const std::int32_t token : *tokens) pieces.push_back((*model)->TokenPiece(token));
  return JsonResponse({{"tokens", *tokens},
                       {"count", tokens->size()},
                       {"max_model_len", (*model)->context()},
                       {"pieces", std::move(pieces)}});
}

HttpReply Detokenize(ApiContext& context, ApiCall& call) {
  const auto body = BodyOf(call);
  if (!body) return ErrorReply(call, body.error());
  std::optional<Error> refusal;
  Fields fields(*body, "", refusal);
  const std::string name = fields.Text("model").value_or("");
  const Json* list = fields.List("tokens");
  if (list == nullptr) fields.Refuse("tokens", "is missing");
  const auto model = context.models->Find(name);
  if (!model) return ErrorReply(call, model.error());
  std::string text;
  for (std::size_t i = 0; list != nullptr && i < list->size() && !refusal; ++i) {
    const Json& id = (*list)[i];
    const std::string at = "tokens[" + std::to_string(i) + "]";
    if (!id.is_number_integer()) {
      fields.RefuseKind(at, id, "a token id");
    } else if (!(*model)->HasToken(id.is_number_unsigned() ? id.get<std::uint64_t>() : ~0ULL)) {
      fields.Refuse(at, "is " + id.dump() + ", no token of the model's");
    } else {
      text += (*model)->TokenBytes(id.get<std::int32_t>());
    }
  }
  if (refusal) return ErrorReply(call, ApiErrorOf(*refusal));
  return JsonResponse({{"content", text}, {"prompt", text}});
}

}  // namespace

std::span<const ApiRoute> PlainRoutes() {
  static const std::array<ApiRoute, 5> kRoutes = {{
      {.method = "GET", .path = "/health", .endpoint = Health, .handling = Handling::kAtOnce},
      {.method = "GET", .path = "/ready", .endpoint = Ready, .handling = Handling::kAtOnce},
      {.method = "GET", .path = "/metrics", .endpoint = Metrics, .handling = Handling::kAside},
      {.method = "POST", .path = "/tokenize", .endpoint = Tokenize},
      {.method = "POST", .path = "/detokenize", .endpoint = Detokenize},
  }};
  return kRoutes;
}

}  // namespace folio
