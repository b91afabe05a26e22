#include "api/chat_completion_writer.h"

#include <algorithm>
#include <utility>

#include "api/openai_error.h"
#include "api/sse_event.h"

namespace folio {
namespace {

std::string_view FinishReasonText(FinishReason reason, bool called) {
  if (reason == FinishReason::kLength) return "length";
  return called ? "tool_calls" : "stop";
}

void Append(Json& logprobs, const Json& more) {
  if (more.is_null()) return;
  if (logprobs.is_null()) {
    logprobs = more;
    return;
  }
  for (const Json& entry : more["content"]) logprobs["content"].push_back(entry);
}

}  // namespace

Json CompletionUsage(const ReplyTotals& totals) {
  return {{"prompt_tokens", totals.prompt_tokens},
          {"completion_tokens", totals.generated_tokens},
          {"total_tokens", totals.prompt_tokens + totals.generated_tokens},
          {"prompt_tokens_details", {{"cached_tokens", totals.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", totals.reasoning_tokens}}}};
}

ChatCompletionWriter::ChatCompletionWriter(const ApiRequest& request)
    : tools_(request.tools),
      stream_usage_(request.stream_usage),
      choices_(static_cast<std::size_t>(request.request.choices)) {}

Json ChatCompletionWriter::Head(const char* object) const {
  return {{"id", "chatcmpl-" + start_.id},
          {"object", object},
          {"created", start_.created},
          {"model", start_.model}};
}

Json ChatCompletionWriter::ChunkChoice(int choice, Json delta) const {
  return {{"index", choice},
          {"delta", std::move(delta)},
          {"logprobs", nullptr},
          {"finish_reason", nullptr}};
}

std::string ChatCompletionWriter::Chunk(Json choice) const {
  Json chunk = Head("chat.completion.chunk");
  chunk["choices"] = Json::array({std::move(choice)});
  if (stream_usage_) chunk["usage"] = nullptr;
  return SseData(chunk);
}

std::string ChatCompletionWriter::Begin(const ReplyStart& start) {
  start_ = start;
  std::string events;
  for (int i = 0; i < static_cast<int>(choices_.size()); ++i) {
    events += Chunk(ChunkChoice(i, {{"role", "assistant"}, {"content", ""}}));
  }
  return events;
}

// Data that is no chunk breaks some clients; a comment breaks none.
std::string ChatCompletionWriter::KeepAlive(std::string_view note) {
  return SseComment(note.empty() ? "still computing" : note);
}

std::string ChatCompletionWriter::CallId(const Choice& choice, std::size_t call) const {
  const auto index = static_cast<std::size_t>(&choice - choices_.data());
  return "call_" + start_.id + "_" + std::to_string(index) + "_" + std::to_string(call);
}

Json ChatCompletionWriter::CallJson(const Choice& choice, std::size_t call) const {
  const Call& of = choice.calls[call];
  Json json = {{"id", CallId(choice, call)}, {"type", of.custom ? "custom" : "function"}};
  json[of.custom ? "custom" : "function"] = {{"name", of.name},
                                             {of.custom ? "input" : "arguments", of.arguments}};
  return json;
}

Json ChatCompletionWriter::TellCall(Choice& choice, const ReplyPiece& piece) {
  const bool starts = piece.kind == ReplyPiece::Kind::kCallStart;
  if (starts) {
    const Tool* tool = FindTool(tools_, piece.text);
    choice.calls.push_back(
        {.name = piece.text, .custom = tool != nullptr && tool->kind == Tool::Kind::kCustom});
  }
  Call& call = choice.calls.back();
  Json told = {{"index", choice.calls.size() - 1}};
  if (starts) {
    told.update(CallJson(choice, choice.calls.size() - 1));
    return told;
  }
  call.whole = piece.kind == ReplyPiece::Kind::kCallEnd;
  std::string more = piece.text;
  if (call.custom) more = call.whole ? call.input.End() : call.input.Add(piece.text);
  if (more.empty()) return {};
  call.arguments += more;
  if (call.custom) {
    told["custom"] = {{"input", std::move(more)}};
  } else {
    told["function"] = {{"arguments", std::move(more)}};
  }
  return told;
}

Json ChatCompletionWriter::Tell(Choice& choice, const ReplyPiece& piece) {
  switch (piece.kind) {
    case ReplyPiece::Kind::kText:
      choice.text += piece.text;
      return {{"content", piece.text}};
    case ReplyPiece::Kind::kReasoning:
      choice.reasoning += piece.text;
      return {{"reasoning_content", piece.text}};
    default:
      break;
  }
  Json call = TellCall(choice, piece);
  return call.is_null() ? Json() : Json{{"tool_calls", Json::array({std::move(call)})}};
}

std::string ChatCompletionWriter::Add(int choice, const ReplyAddition& addition) {
  Choice& of = choices_[static_cast<std::size_t>(choice)];
  Append(of.logprobs, addition.logprobs);
  std::string events;
  Json logprobs = addition.logprobs;
  for (const ReplyPiece& piece : addition.pieces) {
    Json delta = Tell(of, piece);
    if (delta.is_null()) continue;
    Json chunk = ChunkChoice(choice, std::move(delta));
    chunk["logprobs"] = std::exchange(logprobs, nullptr);
    events += Chunk(std::move(chunk));
  }
  if (!logprobs.is_null()) {  // of tokens whose text is yet to come
    Json chunk = ChunkChoice(choice, Json::object());
    chunk["logprobs"] = std::move(logprobs);
    events += Chunk(std::move(chunk));
  }
  return events;
}

std::string ChatCompletionWriter::EndChoice(int choice, const ChoiceEnd& end) {
  Choice& of = choices_[static_cast<std::size_t>(choice)];
  const bool called = std::ranges::any_of(of.calls, &Call::whole);
  of.finish_reason = FinishReasonText(end.reason, called);
  Json chunk = ChunkChoice(choice, Json::object());
  chunk["finish_reason"] = of.finish_reason;
  return Chunk(std::move(chunk));
}

std::string ChatCompletionWriter::Finish(const ReplyTotals& totals) {
  usage_ = CompletionUsage(totals);
  std::string events;
  if (stream_usage_) {
    Json chunk = Head("chat.completion.chunk");
    chunk["choices"] = Json::array();
    chunk["usage"] = usage_;
    events = SseData(chunk);
  }
  return events + "data: [DONE]\n\n";
}

std::string ChatCompletionWriter::Fail(const ApiError& error) {
  return SseData(OpenAiErrorJson(error));
}

Json ChatCompletionWriter::Message(const Choice& choice) const {
  Json message = {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}};
  if (choice.text.empty() && !choice.calls.empty()) message["content"] = nullptr;
  if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
  Json calls = Json::array();
  for (std::size_t i = 0; i < choice.calls.size(); ++i) calls.push_back(CallJson(choice, i));
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  return message;
}

Json ChatCompletionWriter::Document() const {
  Json document = Head("chat.completion");
  Json list = Json::array();
  for (const Choice& choice : choices_) {
    list.push_back({{"index", list.size()},
                    {"message", Message(choice)},
                    {"logprobs", choice.logprobs},
                    {"finish_reason", choice.finish_reason}});
  }
  document["choices"] = std::move(list);
  document["usage"] = usage_;
  return document;
}

}  // namespace folio
