// Anthropic's Messages as requests. Field by field:
//   * read: model, max_tokens, messages, system, tools, tool_choice, stop_sequences, temperature,
//     top_p, top_k, stream, thinking, output_config (format, effort; output_format, its older
//     name), cache_control, metadata.user_id, diagnostics; and Folio's own seed, min_p,
//     repeat_penalty, presence_penalty, frequency_penalty, priority, cache_salt,
//     chat_template_kwargs;
//   * thinking becomes the template variable enable_thinking, as Qwen3's and others' templates
//     know it: false if disabled, true if enabled, adaptive or between_tools, unset if not said
//     (the model's own way). effort low, medium and high become reasoning_effort (gpt-oss); xhigh
//     and max are its high. chat_template_kwargs goes before both;
//   * refused: thread (message threads), a last message of the assistant's (nothing continues it);
//   * unknown ones pass, as do service_tier, speed, container, mcp_servers, context_management.
// An error names the field by its JSON path.
#ifndef FOLIO_API_ANTHROPIC_REQUEST_H_
#define FOLIO_API_ANTHROPIC_REQUEST_H_

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/api_request.h"
#include "formats/json.h"

namespace folio {

struct AnthropicOptions {
  bool drop_media = false;  // images and documents become a note in the text
};

// What the writer of the reply has to know.
struct AnthropicReplyOptions {
  std::int64_t max_tokens = -1;  // as asked for; 0: the prompt is computed and kept, no more
  bool omit_thinking = false;    // thinking blocks are signed, but empty
};

struct AnthropicRequest {
  ApiRequest api;
  AnthropicReplyOptions reply;
  // `diagnostics`: asked why the cache missed, perhaps against an earlier message ("msg_...").
  bool wants_diagnostics = false;
  std::string previous_message_id;
  std::optional<std::int64_t> thinking_budget;  // tokens
  std::string user_id;                          // metadata's
};

std::expected<AnthropicRequest, ApiError> ParseMessages(const Json& body,
                                                        const AnthropicOptions& options = {});
// The body of count_tokens: the same, but nothing has to be ready for a reply.
std::expected<AnthropicRequest, ApiError> ParseCountTokens(const Json& body,
                                                           const AnthropicOptions& options = {});
Json CountTokensJson(std::int64_t prompt_tokens);

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_REQUEST_H_
