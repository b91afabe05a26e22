#include "api/openai_messages.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace folio {
namespace {

std::string ItemPath(std::string_view list, std::size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

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

Json ReadTool(const Json& item, const std::string& path, std::optional<Error>& refusal) {
  Fields tool(item, path, refusal);
  if (const auto type = tool.Text("type"); type.value_or("") != "function") {
    tool.Refuse("type", type ? "is '" + *type + "'; only 'function' is supported" : "is missing");
  }
  const Json* function = tool.Object("function");
  if (function == nullptr) {
    tool.Refuse("function", "is missing");
    return {};
  }
  Fields fields(*function, tool.PathOf("function"), refusal);
  Json out;
  const auto name = fields.Text("name");
  if (!name) fields.Refuse("name", "is missing");
  out["name"] = name.value_or("");
  if (auto text = fields.Text("description")) out["description"] = *std::move(text);
  if (const Json* schema = fields.Object("parameters")) out["parameters"] = *schema;
  if (fields.Flag("strict").value_or(false)) {
    fields.Refuse("strict", "is true: calls are not held to a schema yet");
  }
  return {{"type", "function"}, {"function", std::move(out)}};
}

// Whether the model is to see the tools.
bool ReadToolChoice(Fields& fields) {
  const Json* choice = fields.Find("tool_choice");
  if (choice == nullptr) return true;
  if (choice->is_string()) {
    const auto text = choice->get<std::string>();
    if (text == "auto") return true;
    if (text == "none") return false;
    fields.Refuse("tool_choice",
                  "is '" + text + "': calls are not forced yet; 'auto' and 'none' are taken");
  } else if (choice->is_object()) {
    fields.Refuse("tool_choice",
                  "names a tool: calls are not forced yet; 'auto' and 'none' are taken");
  } else {
    fields.RefuseKind("tool_choice", *choice, "a string or an object");
  }
  return false;
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

Json ReadTools(Fields& fields) {
  const bool shown = ReadToolChoice(fields);
  Json list = Json::array();
  const Json* tools = fields.List("tools");
  for (std::size_t i = 0; tools != nullptr && i < tools->size() && !fields.refused(); ++i) {
    list.push_back(ReadTool((*tools)[i], ItemPath("tools", i), fields.refusal()));
  }
  return shown ? list : Json::array();
}

}  // namespace folio
