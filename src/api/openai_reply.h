// What came of a request, as OpenAI's chat.completion and text_completion objects.
#ifndef FOLIO_API_OPENAI_REPLY_H_
#define FOLIO_API_OPENAI_REPLY_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "folio/engine.h"
#include "formats/json.h"

namespace folio {

// The bytes that a token stands for: fragments of UTF-8, "" for control tokens.
using TokenBytes = std::function<std::string_view(std::int32_t token)>;

struct ReplyHead {
  std::string id;            // "chatcmpl-..." or "cmpl-..."
  std::string model;         // that answered
  std::int64_t created = 0;  // seconds since 1970
};

// Log-probabilities are written where the samples have them (`logprobs`): of the tokens that the
// text consists of, so neither the end token's nor those of a stop string.
Json ChatCompletionJson(const ReplyHead& head, const Outcome& outcome, bool logprobs,
                        const TokenBytes& bytes);
// One outcome a prompt; choices are numbered through all of them.
Json CompletionJson(const ReplyHead& head, std::span<const Outcome> outcomes, bool logprobs,
                    const TokenBytes& bytes);

// {"error": {message, type, param, code}}; param is the error's `where`, if it is a JSON path.
Json ErrorJson(const Error& error);
// 400 for what the caller can mend, else 500.
int HttpStatusOf(const Error& error);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_REPLY_H_
