#include "api/responses_conversation.h"

#include <utility>

namespace folio {

void ResponsesConversation::EndAssistant() {
  if (!open_) return;
  open_ = false;
  Json message = {{"role", "assistant"}, {"content", std::move(assistant_.content)}};
  if (!assistant_.reasoning.empty()) {
    message["reasoning_content"] = std::move(assistant_.reasoning);
  }
  if (!assistant_.calls.empty()) message["tool_calls"] = std::move(assistant_.calls);
  messages_.push_back(std::move(message));
}

// `after_text`: whether the item may follow a text in the same message.
void ResponsesConversation::BeginAssistant(bool after_text) {
  if (open_ && !after_text && assistant_.has_text && assistant_.calls.empty()) EndAssistant();
  if (open_) return;
  open_ = true;
  assistant_ = Assistant();
}

void ResponsesConversation::AddMessage(std::string_view role, std::string text) {
  EndAssistant();
  messages_.push_back({{"role", role}, {"content", std::move(text)}});
}

void ResponsesConversation::AddAssistantText(std::string_view text) {
  BeginAssistant(false);
  assistant_.content += text;
  assistant_.has_text = true;
}

void ResponsesConversation::AddReasoning(std::string_view text) {
  BeginAssistant(false);
  assistant_.reasoning += text;
}

void ResponsesConversation::AddCall(std::string call_id, std::string name, std::string arguments) {
  BeginAssistant(true);
  Json function = {{"name", std::move(name)}, {"arguments", std::move(arguments)}};
  assistant_.calls.push_back(
      {{"id", std::move(call_id)}, {"type", "function"}, {"function", std::move(function)}});
}

void ResponsesConversation::AddOutput(std::string call_id, std::string text) {
  EndAssistant();
  Json message = {{"role", "tool"}, {"content", std::move(text)}};
  if (!call_id.empty()) message["tool_call_id"] = std::move(call_id);
  messages_.push_back(std::move(message));
}

std::int64_t ResponsesConversation::last_index() const {
  return static_cast<std::int64_t>(messages_.size()) - (open_ ? 0 : 1);
}

Json ResponsesConversation::Take() {
  EndAssistant();
  return std::move(messages_);
}

}  // namespace folio
