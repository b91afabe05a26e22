#include "api/anthropic_error.h"

namespace folio {
namespace {

constexpr std::string_view kThreadUnsupported = "thread_unsupported_request";

std::string_view TypeOf(ApiError::Kind kind) {
  switch (kind) {
    case ApiError::Kind::kInvalidRequest:
    case ApiError::Kind::kMethodNotAllowed:
    case ApiError::Kind::kContextOverflow:
    case ApiError::Kind::kUnsupportedMedia:
    case ApiError::Kind::kNotImplemented:
      return "invalid_request_error";
    case ApiError::Kind::kUnauthorized:
      return "authentication_error";
    case ApiError::Kind::kForbidden:
      return "permission_error";
    case ApiError::Kind::kNotFound:
      return "not_found_error";
    case ApiError::Kind::kTooLarge:
      return "request_too_large";
    case ApiError::Kind::kRateLimited:
      return "rate_limit_error";
    case ApiError::Kind::kUnavailable:
      return "overloaded_error";
    case ApiError::Kind::kInternal:
      return "api_error";
  }
  return "api_error";
}

std::string MessageOf(const ApiError& error) {
  if (error.kind != ApiError::Kind::kContextOverflow) return error.message;
  return "prompt is too long: " + std::to_string(error.prompt_tokens) + " tokens > " +
         std::to_string(error.limit_tokens) + " maximum";
}

}  // namespace

Json AnthropicErrorJson(const ApiError& error, const std::string& request_id) {
  Json inner = {{"type", TypeOf(error.kind)}, {"message", MessageOf(error)}};
  if (!error.details_code.empty()) {
    inner["details"] = {{"error_code", error.details_code}};
    if (error.details_code == kThreadUnsupported) {
      inner["details"]["unsupported"] = Json::array({"thread"});
    }
  }
  Json json = {{"type", "error"}, {"error", std::move(inner)}};
  if (!request_id.empty()) json["request_id"] = request_id;
  return json;
}

}  // namespace folio
