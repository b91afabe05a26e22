// Errors as Anthropic's clients know them.
#ifndef FOLIO_API_ANTHROPIC_ERROR_H_
#define FOLIO_API_ANTHROPIC_ERROR_H_

#include <string>
#include <string_view>

#include "api/api_error.h"
#include "formats/json.h"

namespace folio {

// {type: "error", error: {type, message, details?}, request_id?}; the status is HttpStatusOf's. A
// prompt that is too long is told in the words that clients look for. `request_id` may be empty.
Json AnthropicErrorJson(const ApiError& error, const std::string& request_id = "");

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_ERROR_H_
