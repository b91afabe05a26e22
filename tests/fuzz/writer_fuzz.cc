// Replies as every dialect's writer tells them: the events of a stream, read as a client reads
// them, say what the document says. An input's first byte chooses how the reply ends; a second one
// how it is cut; the rest is the reply, with calls in Hermes' form.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/anthropic_writer.h"
#include "api/chat_completion_writer.h"
#include "api/completion_writer.h"
#include "api/reply_parser/reply_parser.h"
#include "api/responses_writer.h"
#include "formats/utf8.h"

namespace {

using folio::Json;
using folio::ReplyPiece;

void Require(bool holds, std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "line %u does not hold\n", where.line());
  std::abort();
}

struct Input {
  folio::FinishReason reason = folio::FinishReason::kStop;
  bool fails = false;
  std::size_t cut = 1;  // characters of each addition
  std::string text;
};

Input InputOf(std::string_view data) {
  Input input;
  const auto end = static_cast<unsigned char>(data[0]);
  if (end % 3 == 1) input.reason = folio::FinishReason::kLength;
  input.fails = end % 3 == 2;
  input.cut = 1 + static_cast<unsigned char>(data[1]) % 64;
  data.remove_prefix(2);
  input.text = std::string(data.substr(0, folio::ValidUtf8Prefix(data)));
  return input;
}

std::vector<folio::Tool> Tools() {
  folio::Tool custom;
  custom.kind = folio::Tool::Kind::kCustom;
  custom.name = "custom";
  folio::Tool function;
  function.name = "f";
  return {function, custom};
}

std::vector<std::vector<ReplyPiece>> Additions(const Input& input) {
  const folio::ReplySyntax syntax{.calls = folio::CallSyntax::kHermes,
                                  .reasoning = folio::ReasoningSyntax::kThink};
  const auto parser = folio::MakeReplyParser(syntax, Tools(), {});
  std::vector<std::vector<ReplyPiece>> additions;
  std::size_t characters = 0;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= input.text.size(); ++i) {
    const bool end = i == input.text.size();
    if (!end && (static_cast<unsigned char>(input.text[i]) & 0xC0U) == 0x80U) continue;
    if (++characters < input.cut && !end) continue;
    parser->Text(std::string_view(input.text).substr(begin, i - begin), additions.emplace_back());
    begin = i;
    characters = 0;
  }
  parser->End(additions.emplace_back());
  return additions;
}

// The stream that a writer makes of the reply, as it goes over the wire.
std::string Stream(folio::ReplyWriter& writer, const Input& input) {
  std::string events = writer.Begin({.id = "1", .model = "m", .created = 1, .prompt_tokens = 2});
  events += writer.KeepAlive("");
  for (const auto& pieces : Additions(input))
    events += writer.Add(0, {.pieces = pieces, .logprobs = {}});
  if (input.fails) {
    return events + writer.Fail({.kind = folio::ApiError::Kind::kInternal, .message = "x"});
  }
  events += writer.EndChoice(0, {.reason = input.reason, .stop_string = {}});
  return events + writer.Finish({.prompt_tokens = 2, .generated_tokens = 3});
}

struct Event {
  std::string name;
  std::string data;
};

// Lines as the HTML standard reads them (9.2.6), but for forms that no writer has need of: every
// line is a comment, an event's name or the data, and an event has one line of data.
std::vector<Event> ReadEvents(std::string_view stream) {
  std::vector<Event> events;
  Event event;
  while (!stream.empty()) {
    const std::size_t end = stream.find('\n');
    Require(end != std::string_view::npos);
    const std::string_view line = stream.substr(0, end);
    stream.remove_prefix(end + 1);
    Require(line.find('\r') == std::string_view::npos && folio::IsValidUtf8(line));
    if (line.starts_with("event: ")) {
      event.name = line.substr(7);
    } else if (line.starts_with("data: ")) {
      Require(event.data.empty());
      event.data = line.substr(6);
    } else if (line.empty()) {
      if (!event.data.empty()) events.push_back(std::move(event));
      event = {};
    } else {
      Require(line.starts_with(":"));
    }
  }
  Require(event.data.empty() && event.name.empty());  // the last one is whole
  return events;
}

Json DataOf(const Event& event) {
  auto json = folio::ParseJson(event.data);
  Require(json && json->is_object());
  return *std::move(json);
}

std::string TextOr(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string ChatText(const std::vector<Event>& events, const char* member) {
  std::string text;
  for (const Event& event : events) {
    if (event.data == "[DONE]") continue;
    for (const Json& choice : DataOf(event).value("choices", Json::array()))
      text += TextOr(choice.value("delta", Json::object()), member);
  }
  return text;
}

std::string ChatArguments(const Json& call) {
  return TextOr(call.value("function", Json::object()), "arguments") +
         TextOr(call.value("custom", Json::object()), "input");
}

void CheckChat(const Input& input) {
  folio::ApiRequest request;
  request.tools = Tools();
  request.stream = true;
  folio::ChatCompletionWriter writer(request);
  const auto events = ReadEvents(Stream(writer, input));
  if (input.fails) return;
  Require(events.back().data == "[DONE]");
  const Json message = writer.Document()["choices"][0]["message"];
  Require(ChatText(events, "content") == TextOr(message, "content"));
  Require(ChatText(events, "reasoning_content") == TextOr(message, "reasoning_content"));
  // A call that was cut short is in no document.
  std::map<std::string, std::string> told;
  std::vector<std::string> ids;
  for (const Event& event : events) {
    if (event.data == "[DONE]") continue;
    for (const Json& choice : DataOf(event).value("choices", Json::array())) {
      for (const Json& call : choice["delta"].value("tool_calls", Json::array())) {
        const auto index = call["index"].get<std::size_t>();
        Require(index <= ids.size() && call.contains("id") == (index == ids.size()));
        if (index == ids.size()) ids.push_back(TextOr(call, "id"));
        told[ids[index]] += ChatArguments(call);
      }
    }
  }
  for (const Json& call : message.value("tool_calls", Json::array()))
    Require(told.at(TextOr(call, "id")) == ChatArguments(call));
}

void CheckCompletion(const Input& input) {
  folio::ApiRequest request;
  request.stream = true;
  folio::CompletionWriter writer(request);
  const auto events = ReadEvents(Stream(writer, input));
  if (input.fails) return;
  Require(events.back().data == "[DONE]");
  std::string text;
  for (const Event& event : events) {
    if (event.data == "[DONE]") continue;
    for (const Json& choice : DataOf(event).value("choices", Json::array()))
      text += TextOr(choice, "text");
  }
  Require(text == TextOr(writer.Document()["choices"][0], "text"));
}

// Every event is named by its type.
void CheckNames(const std::vector<Event>& events) {
  for (const Event& event : events) Require(event.name == TextOr(DataOf(event), "type"));
}

void CheckMessages(const Input& input) {
  folio::AnthropicWriter writer({});
  const auto events = ReadEvents(Stream(writer, input));
  CheckNames(events);
  if (input.fails) return Require(events.back().name == "error");
  Require(events.front().name == "message_start" && events.back().name == "message_stop");
  std::vector<std::string> texts;
  for (const Event& event : events) {
    const Json data = DataOf(event);
    if (event.name == "content_block_start") texts.emplace_back();
    if (event.name != "content_block_delta") continue;
    const Json& delta = data["delta"];
    Require(data["index"] == Json(texts.size() - 1));
    texts.back() +=
        TextOr(delta, "text") + TextOr(delta, "thinking") + TextOr(delta, "partial_json");
  }
  const Json content = writer.Document()["content"];
  Require(content.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Json& block = content[i];
    if (block["type"] != "tool_use") {
      Require(texts[i] == TextOr(block, "text") + TextOr(block, "thinking"));
    } else if (const auto value = folio::ParseJson(texts[i].empty() ? "{}" : texts[i])) {
      Require(*value == block["input"]);
    }
  }
}

void CheckResponses(const Input& input) {
  folio::ResponsesRequest request;
  request.api.tools = Tools();
  request.echo = Json::object();
  request.api.stream = true;
  folio::ResponsesWriter writer(request);
  const auto events = ReadEvents(Stream(writer, input));
  CheckNames(events);
  std::map<std::string, std::string> deltas;  // by item
  std::int64_t sequence = 0;
  for (const Event& event : events) {
    const Json data = DataOf(event);
    if (data.contains("sequence_number"))
      Require(data["sequence_number"].get<std::int64_t>() == sequence++);
    if (event.name.ends_with(".delta")) deltas[TextOr(data, "item_id")] += TextOr(data, "delta");
  }
  const Json last = DataOf(events.back());
  if (input.fails) return Require(events.back().name == "response.failed");
  Require(last["response"] == writer.Document());
  for (const Json& item : last["response"]["output"]) {
    std::string text = TextOr(item, "arguments") + TextOr(item, "input");
    for (const Json& part : item.value("content", Json::array())) text += TextOr(part, "text");
    if (TextOr(item, "status") == "completed") Require(text == deltas[TextOr(item, "id")]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3 || size > 1024) return 0;
  const Input input = InputOf({reinterpret_cast<const char*>(data), size});
  CheckChat(input);
  CheckCompletion(input);
  CheckMessages(input);
  CheckResponses(input);
  return 0;
}
