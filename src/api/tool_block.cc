#include "api/tool_block.h"

#include <string>
#include <utility>

namespace folio {
namespace {

std::string BlockOf(const Json& tools) {
  std::string block =
      "# Tools\n\nYou may call one or more of these functions. Each is described by a JSON object "
      "within <tools></tools>:\n<tools>\n";
  for (const Json& tool : tools) block += DumpJson(tool) + "\n";
  return block +
         "</tools>\n\nTo call one, write a JSON object with its name and arguments within "
         "<tool_call></tool_call>:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": "
         "<args-json-object>}\n</tool_call>";
}

std::string TextOf(const Json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : "";
}

void AddToSystem(Json& messages, const std::string& block) {
  if (!messages.empty() && messages.front().value("role", "") == "system") {
    const std::string text = TextOf(messages.front());
    messages.front()["content"] = text.empty() ? block : text + "\n\n" + block;
    return;
  }
  messages.insert(messages.begin(), Json{{"role", "system"}, {"content", block}});
}

// One call as the block shows it. Arguments are JSON text, as the dialects have them.
std::string CallText(const Json& call) {
  const Json function = call.value("function", Json::object());
  const std::string arguments = function.value("arguments", "{}");
  return "<tool_call>\n{\"name\": " + DumpJson(function.value("name", "")) +
         ", \"arguments\": " + (arguments.empty() ? "{}" : arguments) + "}\n</tool_call>";
}

void WriteCallsAsText(Json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return;
  std::string text = TextOf(message);
  for (const Json& call : *calls) {
    if (!text.empty()) text += "\n";
    text += CallText(call);
  }
  message.erase("tool_calls");
  message["content"] = std::move(text);
}

// Results that follow one another are one message.
Json WithResultsAsText(const Json& messages) {
  Json out = Json::array();
  bool in_results = false;
  for (const Json& message : messages) {
    if (message.value("role", "") != "tool") {
      out.push_back(message);
      WriteCallsAsText(out.back());
      in_results = false;
      continue;
    }
    const std::string result = "<tool_response>\n" + TextOf(message) + "\n</tool_response>";
    if (in_results) {
      out.back()["content"] = TextOf(out.back()) + "\n" + result;
    } else {
      out.push_back({{"role", "user"}, {"content", result}});
    }
    in_results = true;
  }
  return out;
}

}  // namespace

void AddToolBlock(Json& messages, Json& variables) {
  messages = WithResultsAsText(messages);
  const auto tools = variables.find("tools");
  if (tools == variables.end()) return;
  if (!tools->empty()) AddToSystem(messages, BlockOf(*tools));
  variables.erase("tools");
}

}  // namespace folio
