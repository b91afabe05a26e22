#include "api/openai_error.h"

namespace folio {
namespace {

std::string_view TypeOf(ApiError::Kind kind) {
  switch (kind) {
    case ApiError::Kind::kRateLimited:
      return "rate_limit_error";
    case ApiError::Kind::kInternal:
    case ApiError::Kind::kUnavailable:
      return "server_error";
    default:
      return "invalid_request_error";
  }
}

Json TextOrNull(std::string_view text) { return text.empty() ? Json() : Json(text); }

}  // namespace

std::string_view OpenAiErrorCode(const ApiError& error) {
  if (!error.details_code.empty()) return error.details_code;
  switch (error.kind) {
    case ApiError::Kind::kUnauthorized:
      return "invalid_api_key";
    case ApiError::Kind::kForbidden:
      return "permission_denied";
    case ApiError::Kind::kNotFound:
      return error.param == "model" ? "model_not_found" : "";
    case ApiError::Kind::kMethodNotAllowed:
      return "method_not_allowed";
    case ApiError::Kind::kContextOverflow:
      return "context_length_exceeded";
    case ApiError::Kind::kTooLarge:
      return "request_too_large";
    case ApiError::Kind::kUnsupportedMedia:
      return "unsupported_media_type";
    case ApiError::Kind::kRateLimited:
      return "rate_limit_exceeded";
    case ApiError::Kind::kNotImplemented:
      return "not_implemented";
    case ApiError::Kind::kUnavailable:
      return "service_unavailable";
    case ApiError::Kind::kInvalidRequest:
    case ApiError::Kind::kInternal:
      return "";
  }
  return "";
}

std::string OpenAiErrorMessage(const ApiError& error) {
  const bool counted = error.kind == ApiError::Kind::kContextOverflow && error.limit_tokens > 0;
  if (!counted) return error.message;
  std::string text = "This model's maximum context length is " +
                     std::to_string(error.limit_tokens) + " tokens. However, your request has " +
                     std::to_string(error.prompt_tokens) + " tokens.";
  if (!error.message.empty()) text += " " + error.message;
  return text;
}

Json OpenAiErrorJson(const ApiError& error) {
  return {{"error",
           {{"message", OpenAiErrorMessage(error)},
            {"type", TypeOf(error.kind)},
            {"param", TextOrNull(error.param)},
            {"code", TextOrNull(OpenAiErrorCode(error))}}}};
}

}  // namespace folio
