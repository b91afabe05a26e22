#include "api/anthropic_tools.h"

#include <string>
#include <unordered_set>
#include <utility>

namespace folio {
namespace {

// Nothing for tools that can't be called here.
std::optional<Tool> ReadTool(Fields& fields, AnthropicReading& reading) {
  reading.marks.Read(fields, -1);
  const std::string type = fields.Text("type").value_or("custom");
  if (type != "custom") {
    reading.LeaveOut(fields, type, "isn't known here");
    return std::nullopt;
  }
  Tool tool;
  const auto name = fields.Text("name");
  if (!name || name->empty()) fields.Refuse("name", name ? "is empty" : "is missing");
  tool.name = name.value_or("");
  tool.description = fields.Text("description").value_or("");
  tool.strict = fields.Flag("strict").value_or(false);
  if (const Json* schema = fields.Object("input_schema")) {
    tool.parameters = *schema;
  } else {
    fields.Refuse("input_schema", "is missing");
  }
  return tool;
}

}  // namespace

std::vector<Tool> ReadAnthropicTools(Fields& body, AnthropicReading& reading) {
  std::vector<Tool> tools;
  std::unordered_set<std::string> names;
  const Json* list = body.List("tools");
  for (std::size_t i = 0; list != nullptr && i < list->size() && !body.refused(); ++i) {
    Fields fields((*list)[i], ItemPath("tools", i), body.refusal());
    auto tool = ReadTool(fields, reading);
    if (!tool) continue;
    if (!names.insert(tool->name).second) fields.Refuse("name", "is '" + tool->name + "' again");
    tools.push_back(*std::move(tool));
  }
  return tools;
}

void ReadAnthropicToolChoice(Fields& body, ApiRequest& request) {
  const Json* given = body.Object("tool_choice");
  if (given == nullptr) return;
  Fields fields(*given, "tool_choice", body.refusal());
  const auto type = fields.Text("type");
  request.parallel_tool_calls = !fields.Flag("disable_parallel_tool_use").value_or(false);
  ToolChoice& choice = request.tool_choice;
  if (!type) return fields.Refuse("type", "is missing");
  if (type == "none") {
    choice.kind = ToolChoice::Kind::kNone;
  } else if (type == "any") {
    choice.kind = ToolChoice::Kind::kRequired;
    if (request.tools.empty()) fields.Refuse("type", "is any, of no tools");
  } else if (type == "tool") {
    choice.kind = ToolChoice::Kind::kNamed;
    choice.name = fields.Text("name").value_or("");
    if (FindTool(request.tools, choice.name) == nullptr) {
      fields.Refuse("name", "is '" + choice.name + "', none of the tools");
    }
  } else if (type != "auto") {
    fields.Refuse("type", "is '" + *type + "', none of auto, any, tool, none");
  }
}

}  // namespace folio
