#include "api/openai_messages.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace folio {
namespace {

// Of parts that are no text; null for others.
const char* MediaName(std::string_view type) {
  if (type == "image_url") return "image";
  if (type == "input_audio") return "audio";
  return type == "file" ? "file" : nullptr;
}

// Also as the Responses API calls them.
bool IsTextPart(std::string_view type) {
  return type == "text" || type == "refusal" || type == "input_text" || type == "output_text";
}

// The text of one part of a content.
std::string PartText(const Json& part, const std::string& path, bool drop_media,
                     std::optional<Error>& refusal) {
  Fields fields(part, path, refusal);
  const auto type = fields.Text("type").value_or("text");
  if (drop_media && MediaName(type) != nullptr) {
    return "[" + std::string(MediaName(type)) + " left out: only text is read here]";
  }
  if (type == "thinking" || type == "reasoning")
    return {};  // of an earlier reply, as others have it
  if (MediaName(type) != nullptr) {
    fields.Refuse("type", "is '" + type + "': only text is read, no images, audio or files");
    return {};
  }
  const std::string_view name = type == "refusal" ? "refusal" : "text";
  if (!IsTextPart(type)) {
    fields.Refuse("type", "is '" + type + "', none of text, refusal");
    return {};
  }
  auto text = fields.Text(name);
  if (!text) fields.Refuse(name, "is missing");
  return std::move(text).value_or("");
}

std::string ContentText(Fields& message, bool drop_media) {
  const Json* content = message.Find("content");
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    message.RefuseKind("content", *content, "a string or a list of parts");
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i < content->size() && !message.refused(); ++i) {
    text += PartText((*content)[i], ItemPath(message.PathOf("content"), i), drop_media,
                     message.refusal());
  }
  return text;
}

Json CallJson(const std::string& id, const std::string& name, const std::string& arguments) {
  return {
      {"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

// A call of a custom tool is one of a function with one text, as the model made it.
Json ToolCall(const Json& call, const std::string& path, std::optional<Error>& refusal) {
  Fields fields(call, path, refusal);
  const std::string type = fields.Text("type").value_or("function");
  if (type != "function" && type != "custom") {
    fields.Refuse("type", "is '" + type + "', neither function nor custom");
    return {};
  }
  const Json* of = fields.Object(type);
  if (of == nullptr) {
    fields.Refuse(type, "is missing");
    return {};
  }
  Fields inner(*of, fields.PathOf(type), refusal);
  const auto name = inner.Text("name");
  if (!name) inner.Refuse("name", "is missing");
  const std::string arguments = type == "custom"
                                    ? DumpJson({{"input", inner.Text("input").value_or("")}})
                                    : inner.Text("arguments").value_or("{}");
  return CallJson(fields.Text("id").value_or(""), name.value_or(""), arguments);
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

Json ReadMessage(const Json& item, const std::string& path, bool drop_media,
                 std::optional<Error>& refusal) {
  Fields message(item, path, refusal);
  Json out;
  const std::string role = ReadRole(message);
  out["role"] = role;
  out["content"] = ContentText(message, drop_media);
  if (auto name = message.Text("name")) out["name"] = *std::move(name);
  if (role == "assistant") {
    auto reasoning = message.Text("reasoning_content");
    if (!reasoning) reasoning = message.Text("reasoning");
    if (reasoning) out["reasoning_content"] = *std::move(reasoning);
    AddToolCalls(message, out);
  }
  if (role == "tool") {
    if (auto id = message.Text("tool_call_id")) out["tool_call_id"] = *std::move(id);
  }
  return out;
}

}  // namespace

Json ReadMessages(Fields& fields, bool drop_media) {
  const Json* messages = fields.List("messages");
  if (messages == nullptr || messages->empty()) {
    fields.Refuse("messages", messages == nullptr ? "is missing" : "is empty");
    return {};
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < messages->size() && !fields.refused(); ++i) {
    list.push_back(
        ReadMessage((*messages)[i], ItemPath("messages", i), drop_media, fields.refusal()));
  }
  return list;
}

}  // namespace folio
