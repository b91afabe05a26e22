#include "api/anthropic_messages.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "api/encrypted_content.h"

namespace folio {
namespace {

constexpr std::string_view kUserBlocks = "text, tool_result, search_result";
constexpr std::string_view kAssistantBlocks = "text, thinking, redacted_thinking, tool_use";

std::int64_t NextIndex(const Json& list) { return static_cast<std::int64_t>(list.size()); }

std::string Required(Fields& fields, std::string_view name) {
  auto text = fields.Text(name);
  if (!text) fields.Refuse(name, "is missing");
  return std::move(text).value_or("");
}

bool IsServerToolBlock(std::string_view type) {
  return type.ends_with("_tool_use") || type.ends_with("_tool_result");
}

bool StartsWithError(std::string_view text) {
  constexpr std::string_view kError = "error";
  return text.size() >= kError.size() &&
         std::ranges::equal(text.substr(0, kError.size()), kError, {},
                            [](unsigned char c) { return std::tolower(c); });
}

// Templates know of no failed results, so the text says it.
std::string ResultText(std::string content, bool is_error) {
  if (!is_error || StartsWithError(content)) return content;
  return content.empty() ? "Error" : "Error: " + content;
}

Json ToolMessage(Fields& block, std::int64_t message, AnthropicReading& reading) {
  const std::string id = Required(block, "tool_use_id");
  std::string content = ContentText(block, "content", message, reading);
  reading.marks.Read(block, message);
  const bool is_error = block.Flag("is_error").value_or(false);
  return {{"role", "tool"},
          {"content", ResultText(std::move(content), is_error)},
          {"tool_call_id", id}};
}

// Arguments are JSON text, as in OpenAI's form.
Json ToolCall(Fields& block) {
  const std::string id = Required(block, "id");
  const std::string name = Required(block, "name");
  const Json* input = block.Object("input");
  return {
      {"id", id},
      {"type", "function"},
      {"function", {{"name", name}, {"arguments", input == nullptr ? "{}" : DumpJson(*input)}}}};
}

// Blocks of one message, told apart.
struct AssistantBlocks {
  std::string text;
  std::string thinking;
  Json calls = Json::array();
};

void ReadAssistantBlock(Fields& block, std::int64_t message, AnthropicReading& reading,
                        AssistantBlocks& out) {
  const std::string type = Required(block, "type");
  if (type == "thinking") {
    const std::string thinking = Required(block, "thinking");
    const auto omitted = DecryptedContent(block.Text("signature").value_or(""));
    out.thinking += thinking.empty() ? omitted.value_or("") : thinking;
  } else if (type == "tool_use") {
    out.calls.push_back(ToolCall(block));
    reading.marks.Read(block, message);
  } else if (IsServerToolBlock(type)) {
    reading.LeaveOut(block, type, "of a server's own tools");
    reading.marks.Read(block, message);
  } else if (type == "fallback") {
    reading.LeaveOut(block, type, "of a service's own models");
  } else if (type != "redacted_thinking") {
    out.text += BlockText(block, type, message, kAssistantBlocks, reading);
  }
}

void AddAssistant(Fields& fields, const Json* blocks, AnthropicReading& reading, Json& list) {
  AssistantBlocks read;
  if (blocks == nullptr) {
    read.text = ContentText(fields, "content", NextIndex(list), reading);
  }
  for (std::size_t i = 0; blocks != nullptr && i < blocks->size() && !fields.refused(); ++i) {
    Fields block((*blocks)[i], ItemPath(fields.PathOf("content"), i), fields.refusal());
    ReadAssistantBlock(block, NextIndex(list), reading, read);
  }
  Json message = {{"role", "assistant"}, {"content", std::move(read.text)}};
  if (!read.thinking.empty()) message["reasoning_content"] = std::move(read.thinking);
  if (!read.calls.empty()) message["tool_calls"] = std::move(read.calls);
  list.push_back(std::move(message));
}

bool IsToolResult(const Json& block) {
  if (!block.is_object()) return false;
  const auto type = block.find("type");
  return type != block.end() && *type == "tool_result";
}

// A message of results alone leaves no empty one of the user's behind them.
void AddUserBlocks(Fields& fields, const Json& blocks, AnthropicReading& reading, Json& list) {
  const auto results = std::ranges::count_if(blocks, IsToolResult);
  const std::int64_t last = NextIndex(list) + results;
  std::string text;
  for (std::size_t i = 0; i < blocks.size() && !fields.refused(); ++i) {
    Fields block(blocks[i], ItemPath(fields.PathOf("content"), i), fields.refusal());
    if (IsToolResult(blocks[i])) {
      list.push_back(ToolMessage(block, NextIndex(list), reading));
    } else {
      text += BlockText(block, Required(block, "type"), last, kUserBlocks, reading);
    }
  }
  if (results == 0 || !text.empty()) {
    list.push_back({{"role", "user"}, {"content", std::move(text)}});
  }
}

void AddMessage(Fields& fields, AnthropicReading& reading, Json& list) {
  const std::string role = Required(fields, "role");
  const Json* content = fields.Find("content");
  const Json* blocks = content != nullptr && content->is_array() ? content : nullptr;
  if (role == "assistant") return AddAssistant(fields, blocks, reading, list);
  if (role != "user" && role != "system") {
    return fields.Refuse("role", "is '" + role + "', none of user, assistant, system");
  }
  if (content == nullptr) return fields.Refuse("content", "is missing");
  if (role == "user" && blocks != nullptr) return AddUserBlocks(fields, *blocks, reading, list);
  list.push_back(
      {{"role", role}, {"content", ContentText(fields, "content", NextIndex(list), reading)}});
}

}  // namespace

Json ReadAnthropicMessages(Fields& body, AnthropicReading& reading) {
  Json list = Json::array();
  std::string system = SystemText(body, reading);
  if (!system.empty()) list.push_back({{"role", "system"}, {"content", std::move(system)}});
  reading.marks.KeepWithin(NextIndex(list) - 1);
  const Json* messages = body.List("messages");
  if (messages == nullptr || messages->empty()) {
    body.Refuse("messages", messages == nullptr ? "is missing" : "is empty");
  }
  for (std::size_t i = 0; messages != nullptr && i < messages->size() && !body.refused(); ++i) {
    Fields fields((*messages)[i], ItemPath("messages", i), body.refusal());
    AddMessage(fields, reading, list);
    reading.marks.KeepWithin(NextIndex(list) - 1);
  }
  return list;
}

}  // namespace folio
