#include "api/openai_tools.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/api_request.h"

namespace folio {
namespace {

Tool ReadFunctionTool(Fields& tool) {
  const Json* function = tool.Object("function");
  if (function == nullptr) {
    tool.Refuse("function", "is missing");
    return {};
  }
  Fields fields(*function, tool.PathOf("function"), tool.refusal());
  const auto name = fields.Text("name");
  if (!name) fields.Refuse("name", "is missing");
  Tool out{.name = name.value_or("")};
  out.description = fields.Text("description").value_or("");
  if (const Json* schema = fields.Object("parameters")) out.parameters = *schema;
  out.strict = fields.Flag("strict").value_or(false);
  return out;
}

void ReadGrammar(Fields& custom, Tool& tool) {
  const Json* format = custom.Object("format");
  if (format == nullptr) return;
  Fields fields(*format, custom.PathOf("format"), custom.refusal());
  if (fields.Text("type").value_or("text") != "grammar") return;
  const Json* grammar = fields.Object("grammar");
  Fields inner(grammar != nullptr ? *grammar : *format,
               fields.PathOf(grammar != nullptr ? "grammar" : ""), custom.refusal());
  tool.grammar = inner.Text("definition").value_or("");
  const std::string syntax = inner.Text("syntax").value_or("lark");
  if (syntax != "lark" && syntax != "regex") {
    inner.Refuse("syntax", "is '" + syntax + "', neither lark nor regex");
  }
  tool.grammar_is_regex = syntax == "regex";
}

Tool ReadCustomTool(Fields& tool) {
  const Json* custom = tool.Object("custom");
  if (custom == nullptr) {
    tool.Refuse("custom", "is missing");
    return {};
  }
  Fields fields(*custom, tool.PathOf("custom"), tool.refusal());
  const auto name = fields.Text("name");
  if (!name) fields.Refuse("name", "is missing");
  Tool out{.kind = Tool::Kind::kCustom, .name = name.value_or("")};
  out.description = fields.Text("description").value_or("");
  ReadGrammar(fields, out);
  return out;
}

// Nothing for kinds that only OpenAI's own servers run: a client that offers them gets on without.
std::optional<Tool> ReadTool(const Json& item, const std::string& path,
                             std::vector<std::string>& notes, std::optional<Error>& refusal) {
  Fields fields(item, path, refusal);
  const auto type = fields.Text("type");
  if (!type) fields.Refuse("type", "is missing");
  if (type == "function") return ReadFunctionTool(fields);
  if (type == "custom") return ReadCustomTool(fields);
  AddNote(notes, path + ": '" + type.value_or("") + "' can't run here: left out");
  return std::nullopt;
}

// The tool that an object names, which is {type, TYPE: {name}} or {type, name}.
std::string NamedTool(const Json& json, Fields& choice, std::span<const Tool> tools) {
  const std::string type = choice.Text("type").value_or("function");
  const Json* named = choice.Object(type);
  Fields of(named != nullptr ? *named : json, choice.PathOf(named != nullptr ? type : ""),
            choice.refusal());
  const auto name = of.Text("name");
  if (!name) {
    of.Refuse("name", "is missing");
  } else if (FindTool(tools, *name) == nullptr) {
    of.Refuse("name", "is '" + *name + "', none of the tools");
  }
  return name.value_or("");
}

// {type: "allowed_tools", allowed_tools: {mode, tools}}; tools that only OpenAI's own servers run
// were left out, and so they are here.
ToolChoice AllowedTools(const Json& json, Fields& choice, std::span<const Tool> tools) {
  ToolChoice allowed;
  const Json* given = choice.Object("allowed_tools");
  Fields inner(given != nullptr ? *given : json,
               choice.PathOf(given != nullptr ? "allowed_tools" : ""), choice.refusal());
  const std::string mode = inner.Text("mode").value_or("auto");
  if (mode == "required") allowed.kind = ToolChoice::Kind::kRequired;
  const Json* list = inner.List("tools");
  if (list == nullptr) inner.Refuse("tools", "is missing");
  for (std::size_t i = 0; list != nullptr && i < list->size() && !inner.refused(); ++i) {
    const Json& item = (*list)[i];
    Fields named(item, ItemPath(inner.PathOf("tools"), i), inner.refusal());
    const std::string type = named.Text("type").value_or("function");
    if (type == "function" || type == "custom")
      allowed.allowed.push_back(NamedTool(item, named, tools));
  }
  if (allowed.allowed.empty()) allowed.kind = ToolChoice::Kind::kNone;
  return allowed;
}

}  // namespace

std::vector<Tool> ReadTools(Fields& fields, std::vector<std::string>& notes) {
  std::vector<Tool> tools;
  const Json* list = fields.List("tools");
  for (std::size_t i = 0; list != nullptr && i < list->size() && !fields.refused(); ++i) {
    auto tool = ReadTool((*list)[i], ItemPath("tools", i), notes, fields.refusal());
    if (tool) tools.push_back(*std::move(tool));
  }
  return tools;
}

ToolChoice ReadToolChoice(Fields& fields, std::span<const Tool> tools) {
  const Json* choice = fields.Find("tool_choice");
  if (choice == nullptr) return {};
  if (choice->is_object()) {
    Fields inner(*choice, fields.PathOf("tool_choice"), fields.refusal());
    if (inner.Text("type") == "allowed_tools") return AllowedTools(*choice, inner, tools);
    return {.kind = ToolChoice::Kind::kNamed, .name = NamedTool(*choice, inner, tools)};
  }
  if (!choice->is_string()) {
    fields.RefuseKind("tool_choice", *choice, "a string or an object");
    return {};
  }
  const auto text = choice->get<std::string>();
  if (text == "none") return {.kind = ToolChoice::Kind::kNone, .name = ""};
  if (text == "required" && tools.empty()) fields.Refuse("tool_choice", "is required, of no tools");
  if (text == "required") return {.kind = ToolChoice::Kind::kRequired, .name = ""};
  if (text != "auto")
    fields.Refuse("tool_choice", "is '" + text + "': none of auto, none, required");
  return {};
}

}  // namespace folio
