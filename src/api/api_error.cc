#include "api/api_error.h"

namespace folio {

ApiError ApiErrorOf(const Error& error) {
  const bool callers = error.kind != ErrorKind::kRuntime;
  const bool is_path = callers && error.what.empty();
  return {.kind = callers ? ApiError::Kind::kInvalidRequest : ApiError::Kind::kInternal,
          .message = error.Message(),
          .param = is_path ? error.where : ""};
}

int HttpStatusOf(const ApiError& error) {
  switch (error.kind) {
    case ApiError::Kind::kInvalidRequest:
    case ApiError::Kind::kContextOverflow:
      return 400;
    case ApiError::Kind::kUnauthorized:
      return 401;
    case ApiError::Kind::kForbidden:
      return 403;
    case ApiError::Kind::kNotFound:
      return 404;
    case ApiError::Kind::kMethodNotAllowed:
      return 405;
    case ApiError::Kind::kTooLarge:
      return 413;
    case ApiError::Kind::kUnsupportedMedia:
      return 415;
    case ApiError::Kind::kRateLimited:
      return 429;
    case ApiError::Kind::kInternal:
      return 500;
    case ApiError::Kind::kNotImplemented:
      return 501;
    case ApiError::Kind::kUnavailable:
      return 503;
  }
  return 500;
}

}  // namespace folio
