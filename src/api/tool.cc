#include "api/tool.h"

#include <algorithm>

namespace folio {
namespace {

Json CustomParameters() {
  return {{"type", "object"},
          {"properties", {{"input", {{"type", "string"}}}}},
          {"required", Json::array({"input"})}};
}

// A grammar that the model isn't told can't be kept to but by force.
std::string CustomDescription(const Tool& tool) {
  if (tool.grammar.empty()) return tool.description;
  return tool.description + "\n\nThe input must match this " +
         (tool.grammar_is_regex ? "regular expression" : "Lark grammar") + ":\n" + tool.grammar;
}

Json FunctionOf(const Tool& tool) {
  const bool custom = tool.kind == Tool::Kind::kCustom;
  Json function = {{"name", tool.ModelName()}};
  const std::string description = custom ? CustomDescription(tool) : tool.description;
  if (!description.empty()) function["description"] = description;
  if (custom) {
    function["parameters"] = CustomParameters();
  } else if (!tool.parameters.is_null()) {
    function["parameters"] = tool.parameters;
  }
  return function;
}

}  // namespace

std::string Tool::ModelName() const { return space.empty() ? name : space + "__" + name; }

const Tool* FindTool(std::span<const Tool> tools, std::string_view model_name) {
  const auto found = std::ranges::find(tools, model_name, &Tool::ModelName);
  return found == tools.end() ? nullptr : &*found;
}

Json ToolsForTemplate(std::span<const Tool> tools) {
  Json list = Json::array();
  for (const Tool& tool : tools) {
    list.push_back({{"type", "function"}, {"function", FunctionOf(tool)}});
  }
  return list;
}

}  // namespace folio
