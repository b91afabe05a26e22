// Messages of Anthropic's dialect, brought into the form that a chat template sees
// (openai_messages.h):
//   * the system prompt is the first message; system messages further on stay where they are;
//   * of an assistant's blocks, text is the content, thinking the reasoning_content, tool_use the
//     tool_calls: one message, whatever the order of its blocks;
//   * each tool_result is a message of the role "tool", before the text of its user message;
//   * marks, signatures and redacted thinking are left out, as are uses and results of tools that
//     only the API's own servers run.
#ifndef FOLIO_API_ANTHROPIC_MESSAGES_H_
#define FOLIO_API_ANTHROPIC_MESSAGES_H_

#include "api/anthropic_content.h"
#include "api/fields.h"
#include "formats/json.h"

namespace folio {

// The list of `body`'s system prompt and messages; meaningless after a refusal.
Json ReadAnthropicMessages(Fields& body, AnthropicReading& reading);

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_MESSAGES_H_
