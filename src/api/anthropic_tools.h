// Tools of Anthropic's dialect. A tool with a schema is the client's own; typed ones (web_search_*,
// code_execution_*, bash_*) are run by the API's servers or known to its models alone, and left
// out.
#ifndef FOLIO_API_ANTHROPIC_TOOLS_H_
#define FOLIO_API_ANTHROPIC_TOOLS_H_

#include <vector>

#include "api/anthropic_content.h"
#include "api/api_request.h"
#include "api/fields.h"

namespace folio {

std::vector<Tool> ReadAnthropicTools(Fields& body, AnthropicReading& reading);

// tool_choice, with its disable_parallel_tool_use, of `request`'s tools.
void ReadAnthropicToolChoice(Fields& body, ApiRequest& request);

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_TOOLS_H_
