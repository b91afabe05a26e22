// The response object of OpenAI's Responses API around what a reply says.
#ifndef FOLIO_API_RESPONSES_DOCUMENT_H_
#define FOLIO_API_RESPONSES_DOCUMENT_H_

#include <string_view>

#include "api/reply_writer.h"
#include "formats/json.h"

namespace folio {

// Its state first, then what was asked for (ResponsesRequest::echo). `status`: "in_progress",
// "completed", "incomplete" or "failed"; error, incomplete_details and usage are null.
Json ResponseJson(const ReplyStart& start, std::string_view status, const Json& output,
                  const Json& echo);
// {input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens}
Json ResponseUsageJson(const ReplyTotals& totals);
// {code, message}, in codes that the SDK's types and Codex know: a failure in the midst of a reply
// is the server's if they have no other word.
Json ResponseErrorJson(const ApiError& error);

}  // namespace folio

#endif  // FOLIO_API_RESPONSES_DOCUMENT_H_
