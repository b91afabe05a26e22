// Tools of OpenAI's chat completions, and which of them a reply may or must call.
#ifndef FOLIO_API_OPENAI_TOOLS_H_
#define FOLIO_API_OPENAI_TOOLS_H_

#include <span>
#include <vector>

#include "api/fields.h"
#include "api/tool.h"

namespace folio {

// Functions and custom tools of `fields`' "tools", in their order; others are noted.
std::vector<Tool> ReadTools(Fields& fields, std::vector<std::string>& notes);
// "tool_choice"; `tools`: those it may name.
ToolChoice ReadToolChoice(Fields& fields, std::span<const Tool> tools);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_TOOLS_H_
