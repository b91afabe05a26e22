#include "api/openai_messages.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace folio {
namespace {

// The text of one part of a content.
std::string PartText(const Json& part, const std::string& path, std::optional<Error>& refusal) {
  Fields fields(part, path, refusal);
  const auto type = fields.Text("type").value_or("text");
  if (type != "text" && type != "refusal") {
    fields.Refuse("type", "is '" + type + "': only text is read, no images, audio or files");
    return {};
  }
  auto text = fields.Text(type);
  if (!text) fields.Refuse(type, "is missing");
  return std::move(text).value_or("");
}

std::string ContentText(Fields& message) {
  const Json* content = message.Find("content");
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    message.RefuseKind("content", *content, "a string or a list of parts");
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i < content->size() && !message.refused(); ++i) {
    text += PartText((*content)[i], ItemPath(message.PathOf("content"), i), message.refusal());
  }
  return text;
}

Json ToolCall(const Json& call, const std::string& path, std::optional<Error>& refusal) {
  Fields fields(call, path, refusal);
  if (const auto type = fields.Text("type"); type && *type != "function") {
    fields.Refuse("type", "is '" + *type + "'; only 'function' is supported");
  }
  const Json* function = fields.Object("function");
  if (function == nullptr) {
    fields.Refuse("function", "is missing");
    return {};
  }
  Fields inner(*function, fields.PathOf("function"), refusal);
  const auto name = inner.Text("name");
  if (!name) inner.Refuse("name", "is missing");
  return {{"id", fields.Text("id").value_or("")},
          {"type", "function"},
          {"function",
           {{"name", name.value_or("")}, {"arguments", inner.Text("arguments").value_or("{}")}}}};
}

void AddToolCalls(Fields& message, Json& out) {
  const Json* calls = message.List("tool_calls");
  if (calls == nullptr || calls->empty()) return;
  Json list = Json::array();
  for (std::size_t i = 0; i < calls->size() && !message.refused(); ++i) {
    list.push_back(
        ToolCall((*calls)[i], ItemPath(message.PathOf("tool_calls"), i), message.refusal()));
  }
  out["tool_calls"] = std::move(list);
}

std::string ReadRole(Fields& message) {
  constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                      "tool"};
  auto role = message.Text("role");
  if (!role) {
    message.Refuse("role", "is missing");
    return {};
  }
  if (std::ranges::find(kRoles, *role) == kRoles.end()) {
    message.Refuse("role", "is '" + *role + "', none of system, developer, user, assistant, tool");
  }
  return *role == "developer" ? "system" : *std::move(role);
}

Json ReadMessage(const Json& item, const std::string& path, std::optional<Error>& refusal) {
  Fields message(item, path, refusal);
  Json out;
  const std::string role = ReadRole(message);
  out["role"] = role;
  if (role != "assistant" && message.Find("content") == nullptr) {
    message.Refuse("content", "is missing");
  }
  out["content"] = ContentText(message);
  if (auto name = message.Text("name")) out["name"] = *std::move(name);
  if (role == "assistant") {
    if (auto text = message.Text("reasoning_content")) out["reasoning_content"] = *std::move(text);
    AddToolCalls(message, out);
  }
  if (role == "tool") {
    if (auto id = message.Text("tool_call_id")) out["tool_call_id"] = *std::move(id);
  }
  return out;
}

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
                             std::optional<Error>& refusal) {
  Fields fields(item, path, refusal);
  const auto type = fields.Text("type");
  if (!type) fields.Refuse("type", "is missing");
  if (type == "function") return ReadFunctionTool(fields);
  if (type == "custom") return ReadCustomTool(fields);
  return std::nullopt;
}

// A name alone, or an object that says what kind of tool it names.
std::string NamedTool(Fields& fields, const Json& choice) {
  Fields inner(choice, fields.PathOf("tool_choice"), fields.refusal());
  const std::string type = inner.Text("type").value_or("function");
  const Json* named = inner.Object(type);
  Fields of(named != nullptr ? *named : choice, inner.PathOf(named != nullptr ? type : ""),
            fields.refusal());
  auto name = of.Text("name");
  if (!name) of.Refuse("name", "is missing");
  return std::move(name).value_or("");
}

}  // namespace

Json ReadMessages(Fields& fields) {
  const Json* messages = fields.List("messages");
  if (messages == nullptr || messages->empty()) {
    fields.Refuse("messages", messages == nullptr ? "is missing" : "is empty");
    return {};
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < messages->size() && !fields.refused(); ++i) {
    list.push_back(ReadMessage((*messages)[i], ItemPath("messages", i), fields.refusal()));
  }
  return list;
}

std::vector<Tool> ReadTools(Fields& fields) {
  std::vector<Tool> tools;
  const Json* list = fields.List("tools");
  for (std::size_t i = 0; list != nullptr && i < list->size() && !fields.refused(); ++i) {
    auto tool = ReadTool((*list)[i], ItemPath("tools", i), fields.refusal());
    if (tool) tools.push_back(*std::move(tool));
  }
  return tools;
}

ToolChoice ReadToolChoice(Fields& fields, std::span<const Tool> tools) {
  const Json* choice = fields.Find("tool_choice");
  if (choice == nullptr) return {};
  if (choice->is_object()) {
    ToolChoice named{.kind = ToolChoice::Kind::kNamed, .name = NamedTool(fields, *choice)};
    if (!fields.refused() && FindTool(tools, named.name) == nullptr) {
      fields.Refuse("tool_choice", "names '" + named.name + "', none of the tools");
    }
    return named;
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
