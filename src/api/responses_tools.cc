#include "api/responses_tools.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/api_request.h"

namespace folio {
namespace {

std::string RequiredName(Fields& fields) {
  auto name = fields.Text("name");
  if (!name || name->empty()) fields.Refuse("name", name ? "is empty" : "is missing");
  return std::move(name).value_or("");
}

}  // namespace

void ResponsesTools::LeaveOut(const std::string& path, const std::string& type) {
  AddNote(notes_, path + ": '" + type + "' can't run here: left out");
  some_left_out_ = true;
}

void ResponsesTools::ReadGrammar(Fields& fields, Tool& tool) {
  const Json* format = fields.Object("format");
  if (format == nullptr) return;
  Fields inner(*format, fields.PathOf("format"), fields.refusal());
  if (inner.Text("type").value_or("text") != "grammar") return;
  const std::string syntax = inner.Text("syntax").value_or("lark");
  if (syntax != "lark" && syntax != "regex") {
    AddNote(notes_, inner.PathOf("syntax") + ": is '" + syntax +
                        "', neither lark nor regex: any text is taken");
    return;
  }
  tool.grammar = inner.Text("definition").value_or("");
  tool.grammar_is_regex = syntax == "regex";
}

void ResponsesTools::AddTool(Fields& fields, Tool tool) {
  if (fields.refused()) return;
  const auto same = std::ranges::find(tools_, tool.ModelName(), &Tool::ModelName);
  if (same == tools_.end()) {
    tools_.push_back(std::move(tool));
  } else {
    *same = std::move(tool);
  }
}

void ResponsesTools::AddOne(const Json& item, const std::string& path, const std::string& space,
                            std::optional<Error>& refusal) {
  Fields fields(item, path, refusal);
  const auto type = fields.Text("type");
  if (!type) return fields.Refuse("type", "is missing");
  if (type == "namespace" && space.empty()) {
    const std::string name = RequiredName(fields);
    const Json* list = fields.List("tools");
    for (std::size_t i = 0; list != nullptr && i < list->size() && !fields.refused(); ++i) {
      AddOne((*list)[i], ItemPath(path + ".tools", i), name, refusal);
    }
  } else if (type == "function" || type == "custom") {
    Tool tool{.name = RequiredName(fields), .space = space};
    tool.description = fields.Text("description").value_or("");
    if (type == "function") {
      if (const Json* schema = fields.Object("parameters")) tool.parameters = *schema;
      tool.strict = fields.Flag("strict").value_or(false);
    } else {
      tool.kind = Tool::Kind::kCustom;
      ReadGrammar(fields, tool);
    }
    AddTool(fields, std::move(tool));
  } else {
    LeaveOut(path, *type);
  }
}

void ResponsesTools::Add(const Json& list, const std::string& path, std::optional<Error>& refusal) {
  for (std::size_t i = 0; i < list.size() && !refusal; ++i) {
    AddOne(list[i], ItemPath(path, i), "", refusal);
  }
}

std::string ResponsesTools::NameOf(Fields& choice) {
  const std::string name = RequiredName(choice);
  const Tool wanted{.name = name, .space = choice.Text("namespace").value_or("")};
  if (FindTool(tools_, wanted.ModelName()) != nullptr) return wanted.ModelName();
  const auto is_named = [&](const Tool& tool) { return tool.name == name; };
  const auto first = std::ranges::find_if(tools_, is_named);
  if (wanted.space.empty() && std::ranges::count_if(tools_, is_named) == 1) {
    return first->ModelName();
  }
  choice.Refuse("name", "is '" + name + "', none of the tools");
  return {};
}

ToolChoice ResponsesTools::ReadAllowed(Fields& choice) {
  ToolChoice allowed;
  const std::string mode = choice.Text("mode").value_or("auto");
  if (mode == "required") allowed.kind = ToolChoice::Kind::kRequired;
  const Json* list = choice.List("tools");
  if (list == nullptr) choice.Refuse("tools", "is missing");
  for (std::size_t i = 0; list != nullptr && i < list->size() && !choice.refused(); ++i) {
    Fields named((*list)[i], ItemPath(choice.PathOf("tools"), i), choice.refusal());
    const auto type = named.Text("type").value_or("function");
    if (type == "function" || type == "custom") {
      allowed.allowed.push_back(NameOf(named));
    } else {
      LeaveOut(named.PathOf(""), type);
    }
  }
  if (allowed.allowed.empty()) allowed.kind = ToolChoice::Kind::kNone;
  return allowed;
}

ToolChoice ResponsesTools::ReadObject(Fields& fields, const Json& choice) {
  Fields inner(choice, "tool_choice", fields.refusal());
  const std::string type = inner.Text("type").value_or("function");
  if (type == "allowed_tools") return ReadAllowed(inner);
  if (type == "function" || type == "custom") {
    return {.kind = ToolChoice::Kind::kNamed, .name = NameOf(inner)};
  }
  AddNote(notes_, "tool_choice: '" + type + "' can't run here: the model chooses");
  return {};
}

ToolChoice ResponsesTools::ReadWord(Fields& fields, const std::string& word) {
  if (word == "none") return {.kind = ToolChoice::Kind::kNone};
  if (word == "required") {
    if (!tools_.empty()) return {.kind = ToolChoice::Kind::kRequired};
    if (!some_left_out_) fields.Refuse("tool_choice", "is required, of no tools");
    AddNote(notes_, "tool_choice: is required, of tools that can't run here: the model replies");
  } else if (word != "auto") {
    fields.Refuse("tool_choice", "is '" + word + "': none of auto, none, required");
  }
  return {};
}

ToolChoice ResponsesTools::ReadChoice(Fields& fields) {
  const Json* choice = fields.Find("tool_choice");
  if (choice == nullptr) return {};
  if (choice->is_object()) return ReadObject(fields, *choice);
  if (choice->is_string()) return ReadWord(fields, choice->get<std::string>());
  fields.RefuseKind("tool_choice", *choice, "a string or an object");
  return {};
}

}  // namespace folio
