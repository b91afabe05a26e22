// Messages and tools of OpenAI's dialect, brought into the one form that a chat template sees:
//   * content is a string: parts are joined; null, "" and absent are the same;
//   * developer messages are system messages, which templates know;
//   * ids of the API, cache marks and unknown members are left out, so that they can't change the
//     prompt; what templates read stays: name, tool_calls, tool_call_id, reasoning_content.
#ifndef FOLIO_API_OPENAI_MESSAGES_H_
#define FOLIO_API_OPENAI_MESSAGES_H_

#include <span>
#include <vector>

#include "api/fields.h"
#include "api/tool.h"
#include "formats/json.h"

namespace folio {

// The list of `fields`' messages, or null after a refusal.
Json ReadMessages(Fields& fields);
std::vector<Tool> ReadTools(Fields& fields);
// `tools`: those it may name.
ToolChoice ReadToolChoice(Fields& fields, std::span<const Tool> tools);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_MESSAGES_H_
