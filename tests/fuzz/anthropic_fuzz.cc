// Bodies of Anthropic's Messages as anybody may send them: what is accepted keeps what the reader's
// header promises, tidied or not, and what is refused is told in the API's shape.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/anthropic_error.h"
#include "api/anthropic_request.h"
#include "api/openai_request.h"
#include "api/prefix_hygiene.h"
#include "formats/utf8.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckMessage(const folio::Json& message) {
  const auto role = message["role"].get<std::string>();
  Require(role == "system" || role == "user" || role == "assistant" || role == "tool");
  Require(message["content"].is_string());
  Require(message.contains("tool_call_id") == (role == "tool"));
  if (!message.contains("tool_calls")) return;
  for (const folio::Json& call : message["tool_calls"]) {
    const auto arguments = call["function"]["arguments"].get<std::string>();
    const auto parsed = folio::ParseJson(arguments, {.bytes = arguments.size()});
    Require(parsed && parsed->is_object());
  }
}

void CheckPrompt(const folio::ApiRequest& request) {
  const auto messages = static_cast<std::int64_t>(request.messages.size());
  Require(request.marks.size() <= 4);
  std::int64_t last = -2;
  for (const folio::CacheMark& mark : request.marks) {
    Require(mark.message >= last && mark.message < messages);
    last = mark.message;
  }
  const folio::Json variables = folio::TemplateVariables(request);
  Require(variables.is_object() && folio::IsValidUtf8(folio::DumpJson(variables)));
}

// Of either dialect. A second time there is nothing left to put in order.
void CheckTidied(folio::ApiRequest& request) {
  folio::TidyPrefix(request);
  CheckPrompt(request);
  Require(!request.messages.empty());
  Require(folio::TidyPrefix(request, {.drop_client_headers = false}).empty());
}

void CheckRequest(std::expected<folio::AnthropicRequest, folio::ApiError> request) {
  if (!request) {
    Require(folio::HttpStatusOf(request.error()) == 400 && !request.error().message.empty());
    const folio::Json json = folio::AnthropicErrorJson(request.error(), "req_1");
    Require(folio::ParseJson(folio::DumpJson(json)).has_value());
    return;
  }
  Require(!request->api.messages.empty() && request->api.prompts.empty());
  for (const std::string& stop : request->api.request.stop) Require(!stop.empty());
  for (const folio::Json& message : request->api.messages) CheckMessage(message);
  CheckPrompt(request->api);
  CheckTidied(request->api);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = folio::ParseJson(text);
  if (!body) return 0;
  CheckRequest(folio::ParseMessages(*body));
  CheckRequest(folio::ParseMessages(*body, {.drop_media = true}));
  CheckRequest(folio::ParseCountTokens(*body));
  if (auto chat = folio::ParseChatCompletion(*body)) CheckTidied(*chat);
  return 0;
}
