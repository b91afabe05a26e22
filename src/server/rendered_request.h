// An API request's prompts as tokens, and what the cache is to know of them.
#ifndef FOLIO_SERVER_RENDERED_REQUEST_H_
#define FOLIO_SERVER_RENDERED_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/api_request.h"
#include "server/served_model.h"

namespace folio {

struct RenderedRequest {
  std::vector<Engine::Prompt> prompts;    // one of a conversation
  std::int64_t prompt_tokens = 0;         // of all
  std::vector<std::int64_t> mark_tokens;  // where each of the request's marks stands
  bool in_reasoning = false;              // the prompt's end opened it
  std::size_t spliced = 0;                // replies that were changed
};

// Changes a rendered conversation; how many of its replies.
using PromptEdit = std::function<std::size_t(Engine::Prompt& prompt)>;

// Renders the conversation, which `edit` may then change, or reads the prompts; refuses what can
// never fit, with the numbers.
std::expected<RenderedRequest, ApiError> RenderRequest(const ServedModel& model,
                                                       const ApiRequest& request,
                                                       const PromptEdit& edit = {});

// How many tokens that would be, whether they fit or not.
std::expected<std::int64_t, ApiError> PromptTokens(const ServedModel& model,
                                                   const ApiRequest& request,
                                                   const PromptEdit& edit = {});

// The tokens before the end of messages[message], or of the tools for -1: up to the next part.
std::int64_t TokensUpTo(const Engine::Prompt& prompt, std::int64_t message);

}  // namespace folio

#endif  // FOLIO_SERVER_RENDERED_REQUEST_H_
