// What went wrong, as every endpoint of OpenAI's dialect says it.
#ifndef FOLIO_API_OPENAI_ERROR_H_
#define FOLIO_API_OPENAI_ERROR_H_

#include <string>
#include <string_view>

#include "api/api_error.h"
#include "formats/json.h"

namespace folio {

// {"error": {message, type, param, code}}; param and code are null where there is nothing to say.
Json OpenAiErrorJson(const ApiError& error);

// "context_length_exceeded", "model_not_found", ...: what clients tell errors apart by; or empty.
std::string_view OpenAiErrorCode(const ApiError& error);

// The message; of an overflow in the words that clients look for, with the numbers.
std::string OpenAiErrorMessage(const ApiError& error);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_ERROR_H_
