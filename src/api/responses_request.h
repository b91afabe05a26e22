// OpenAI's Responses API as requests. Field by field:
//   * read: model, input, instructions, tools, tool_choice, parallel_tool_calls, text (format,
//     verbosity), reasoning (effort, summary), max_output_tokens, temperature, top_p, top_logprobs,
//     include, store, stream, previous_response_id, prompt_cache_key, prompt_cache_retention,
//     prompt_cache_options (mode, ttl, comparison_response_id), prompt_cache_breakpoint of a part,
//     metadata, safety_identifier, user; and Folio's own, as in chat completions
//     (api/openai_request.h): seed, stop, top_k, min_p, penalties, priority, cache_salt,
//     chat_template_kwargs;
//   * read and of no effect: truncation (what doesn't fit is refused), service_tier;
//   * refused: background, conversation, prompt, and media unless it is to be dropped;
//   * unknown ones pass, and so do tools and items of types that can't run here.
// An error names the field by its JSON path.
#ifndef FOLIO_API_RESPONSES_REQUEST_H_
#define FOLIO_API_RESPONSES_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/api_request.h"
#include "base/error.h"
#include "formats/json.h"

namespace folio {

struct ResponsesOptions {
  bool drop_media = false;  // images and files become a note to the model, instead of an error
  // What a store had of what the body names (api/response_store.h): the items before those of the
  // body, a list or null; and items by the id of an item_reference, an object or null.
  Json earlier;
  Json referred;
};

struct ResponsesRequest {
  ApiRequest api;
  // The members of a response object that tell what was asked for, defaults filled in.
  Json echo;
  // The body's own items, references replaced, to be kept with the reply; a list.
  Json items;
  bool store = true;
  bool summary = false;              // reasoning is to be shown as a summary
  std::string previous_response_id;  // or empty
  // The response that the cache diagnostics shall compare with, or empty: not asked.
  std::string comparison_response_id;
};

// Also for POST /v1/responses/input_tokens, whose body has the same fields.
Result<ResponsesRequest> ParseResponses(const Json& body, const ResponsesOptions& options = {});

// {object: "response.input_tokens", input_tokens}
Json ResponsesInputTokensJson(std::int64_t tokens);

}  // namespace folio

#endif  // FOLIO_API_RESPONSES_REQUEST_H_
