// OpenAI's chat completions and completions as requests. Field by field:
//   * read: model, messages or prompt, tools, tool_choice, parallel_tool_calls, response_format,
//     max_tokens, max_completion_tokens, temperature, top_p, n, stop, seed, logprobs, top_logprobs,
//     presence_penalty, frequency_penalty, stream, stream_options, prompt_cache_key,
//     prompt_cache_retention; and Folio's own top_k, min_p, repeat_penalty, priority (higher runs
//     sooner), cache_salt, chat_template_kwargs;
//   * refused unless neutral, since nothing here could keep what they promise: logit_bias,
//     functions, audio, echo, suffix, best_of;
//   * unknown ones pass.
// An error names the field by its JSON path.
#ifndef FOLIO_API_OPENAI_REQUEST_H_
#define FOLIO_API_OPENAI_REQUEST_H_

#include "api/api_request.h"
#include "base/error.h"
#include "formats/json.h"

namespace folio {

struct ChatOptions {
  bool drop_media = false;  // images, audio and files become a note to the model, not an error
};

Result<ApiRequest> ParseChatCompletion(const Json& body, const ChatOptions& options = {});
Result<ApiRequest> ParseCompletion(const Json& body);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_REQUEST_H_
