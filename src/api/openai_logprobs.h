// Log-probabilities of a reply's tokens in the two shapes that OpenAI has for them.
#ifndef FOLIO_API_OPENAI_LOGPROBS_H_
#define FOLIO_API_OPENAI_LOGPROBS_H_

#include <cstddef>
#include <span>

#include "api/openai_reply.h"
#include "folio/engine.h"
#include "formats/json.h"

namespace folio {

// {content: [{token, logprob, bytes, top_logprobs: [{token, logprob, bytes}]}], refusal}. A token
// that is no whole character is shown with U+FFFD; its bytes are exact.
Json ChatLogprobs(const Reply& reply, const TokenBytes& bytes);

// {tokens, token_logprobs, top_logprobs: [{token: logprob}], text_offset}. A token that is no whole
// character is spelled "bytes:\xe2\x80". Offsets count characters of the reply.
Json CompletionLogprobs(const Reply& reply, const TokenBytes& bytes);

// The same of the next tokens of a reply that is streamed; those that stand for no text are left
// out. `offset`: characters of the reply before them, moved on.
Json ChatLogprobs(std::span<const Sample> samples, const TokenBytes& bytes);
Json CompletionLogprobs(std::span<const Sample> samples, const TokenBytes& bytes,
                        std::size_t& offset);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_LOGPROBS_H_
