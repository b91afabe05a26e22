#include "api/api_request.h"

namespace folio {

Json TemplateVariables(const ApiRequest& request) {
  Json variables = request.variables.is_object() ? request.variables : Json::object();
  const bool shown = request.tool_choice.kind != ToolChoice::Kind::kNone;
  if (shown && !request.tools.empty()) variables["tools"] = ToolsForTemplate(request.tools);
  return variables;
}

}  // namespace folio
