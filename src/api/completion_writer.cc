#include "api/completion_writer.h"

#include <algorithm>
#include <utility>

#include "api/chat_completion_writer.h"
#include "api/openai_error.h"
#include "api/sse_event.h"

namespace folio {
namespace {

std::size_t PromptsOf(const ApiRequest& request) {
  return std::max<std::size_t>(1, request.prompts.size());
}

void Append(Json& logprobs, const Json& more) {
  if (more.is_null()) return;
  if (logprobs.is_null()) {
    logprobs = more;
    return;
  }
  for (const auto& [name, list] : more.items()) {
    for (const Json& entry : list) logprobs[name].push_back(entry);
  }
}

}  // namespace

CompletionWriter::CompletionWriter(const ApiRequest& request)
    : stream_usage_(request.stream_usage),
      choices_(PromptsOf(request) * static_cast<std::size_t>(request.request.choices)) {}

Json CompletionWriter::Head() const {
  return {{"id", "cmpl-" + start_.id},
          {"object", "text_completion"},
          {"created", start_.created},
          {"model", start_.model}};
}

std::string CompletionWriter::Chunk(int choice, const std::string& text, Json logprobs,
                                    Json finish_reason) const {
  Json chunk = Head();
  chunk["choices"] = Json::array({{{"index", choice},
                                   {"text", text},
                                   {"logprobs", std::move(logprobs)},
                                   {"finish_reason", std::move(finish_reason)}}});
  if (stream_usage_) chunk["usage"] = nullptr;
  return SseData(chunk);
}

std::string CompletionWriter::Begin(const ReplyStart& start) {
  start_ = start;
  return {};
}

std::string CompletionWriter::KeepAlive(std::string_view note) {
  return SseComment(note.empty() ? "still computing" : note);
}

std::string CompletionWriter::Add(int choice, const ReplyAddition& addition) {
  Choice& of = choices_[static_cast<std::size_t>(choice)];
  std::string text;
  for (const ReplyPiece& piece : addition.pieces) text += piece.text;
  of.text += text;
  Append(of.logprobs, addition.logprobs);
  return Chunk(choice, text, addition.logprobs, nullptr);
}

std::string CompletionWriter::EndChoice(int choice, const ChoiceEnd& end) {
  Choice& of = choices_[static_cast<std::size_t>(choice)];
  of.finish_reason = end.reason == FinishReason::kLength ? "length" : "stop";
  return Chunk(choice, "", nullptr, of.finish_reason);
}

std::string CompletionWriter::Finish(const ReplyTotals& totals) {
  usage_ = CompletionUsage(totals);
  std::string events;
  if (stream_usage_) {
    Json chunk = Head();
    chunk["choices"] = Json::array();
    chunk["usage"] = usage_;
    events = SseData(chunk);
  }
  return events + "data: [DONE]\n\n";
}

std::string CompletionWriter::Fail(const ApiError& error) {
  return SseData(OpenAiErrorJson(error));
}

Json CompletionWriter::Document() const {
  Json document = Head();
  Json list = Json::array();
  for (const Choice& choice : choices_) {
    list.push_back({{"index", list.size()},
                    {"text", choice.text},
                    {"logprobs", choice.logprobs},
                    {"finish_reason", choice.finish_reason}});
  }
  document["choices"] = std::move(list);
  document["usage"] = usage_;
  return document;
}

}  // namespace folio
