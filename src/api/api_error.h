// What went wrong with a request, before a dialect gives it its own shape and status.
#ifndef FOLIO_API_API_ERROR_H_
#define FOLIO_API_API_ERROR_H_

#include <cstdint>
#include <string>

#include "base/error.h"

namespace folio {

struct ApiError {
  enum class Kind : std::uint8_t {
    kInvalidRequest,    // 400: the body, a field of it, its media
    kUnauthorized,      // 401
    kForbidden,         // 403
    kNotFound,          // 404: a path, a model, a stored response
    kMethodNotAllowed,  // 405
    kContextOverflow,   // 400, as each client recognises it
    kTooLarge,          // 413: the body
    kUnsupportedMedia,  // 415: how the body is encoded
    kRateLimited,       // 429: of this key
    kInternal,          // 500
    kNotImplemented,    // 501
    kUnavailable,       // 503: loading, full, draining: to be tried again
  };
  Kind kind = Kind::kInternal;
  std::string message;
  std::string param;  // JSON path of the field, or empty
  // Of kContextOverflow.
  std::int64_t prompt_tokens = 0;
  std::int64_t limit_tokens = 0;
  // Of kUnavailable and kRateLimited: when to try again; 0: soon.
  double retry_after_seconds = 0;
  // What an SDK looks for beside the kind, or empty: Anthropic's error.details.error_code of
  // message threads; OpenAI's error.code where the kind doesn't say it.
  std::string details_code;
};

// Of kUsage and kInput: the caller's fault; else kInternal.
ApiError ApiErrorOf(const Error& error);
int HttpStatusOf(const ApiError& error);

}  // namespace folio

#endif  // FOLIO_API_API_ERROR_H_
