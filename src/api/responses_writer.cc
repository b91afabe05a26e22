#include "api/responses_writer.h"

#include <utility>

#include "api/encrypted_content.h"
#include "api/responses_document.h"
#include "api/sse_event.h"

namespace folio {
ResponsesWriter::ResponsesWriter(const ResponsesRequest& request)
    : echo_(request.echo), tools_(request.api.tools), summary_(request.summary) {}

std::string ResponsesWriter::Event(std::string_view type, const Json& members) {
  Json data = {{"type", type}, {"sequence_number", sequence_++}};
  data.update(members);
  return SseEvent(type, data);
}

std::string ResponsesWriter::ResponseEvent(std::string_view type) {
  return Event(type, {{"response", document_}});
}

std::string ResponsesWriter::ItemEvent(std::string_view type, const Json& members) {
  Json all = {{"item_id", open_->item["id"]}, {"output_index", output_.size()}};
  all.update(members);
  return Event("response." + std::string(type), all);
}

std::string ResponsesWriter::Begin(const ReplyStart& start) {
  start_ = start;
  const Json response = ResponseJson(start_, "in_progress", output_, echo_);
  std::string events = Event("response.created", {{"response", response}});
  return events += Event("response.in_progress", {{"response", response}});
}

std::string ResponsesWriter::KeepAlive(std::string_view note) {
  return (note.empty() ? "" : SseComment(note)) + Event("keepalive", Json::object());
}

std::string ResponsesWriter::ItemId(std::string_view prefix) const {
  return std::string(prefix) + start_.id + "_" + std::to_string(output_.size());
}

bool ResponsesWriter::IsCall() const {
  return open_->kind == ItemKind::kFunction || open_->kind == ItemKind::kCustom;
}

std::string_view ResponsesWriter::ContentName() const {
  switch (open_->kind) {
    case ItemKind::kMessage:
      return "output_text";
    case ItemKind::kReasoning:
      return summary_ ? "reasoning_summary_text" : "reasoning_text";
    case ItemKind::kFunction:
      return "function_call_arguments";
    case ItemKind::kCustom:
      return "custom_tool_call_input";
  }
  return "";
}

// Which of the item's contents an event is of; a call has but one.
Json ResponsesWriter::ContentPlace() const {
  if (IsCall()) return Json::object();
  const bool is_summary = open_->kind == ItemKind::kReasoning && summary_;
  return {{is_summary ? "summary_index" : "content_index", 0}};
}

Json ResponsesWriter::ContentPart(Json text) const {
  if (open_->kind == ItemKind::kMessage) {
    return {{"type", "output_text"},
            {"text", std::move(text)},
            {"annotations", Json::array()},
            {"logprobs", open_->logprobs}};
  }
  return {{"type", summary_ ? "summary_text" : "reasoning_text"}, {"text", std::move(text)}};
}

std::string ResponsesWriter::Open(ItemKind kind, Json item) {
  open_.emplace();
  open_->kind = kind;
  open_->item = std::move(item);
  std::string events = Event("response.output_item.added",
                             {{"output_index", output_.size()}, {"item", open_->item}});
  if (IsCall()) return events;
  Json members = ContentPlace();
  members["part"] = ContentPart("");
  const bool is_summary = kind == ItemKind::kReasoning && summary_;
  return events +
         ItemEvent(is_summary ? "reasoning_summary_part.added" : "content_part.added", members);
}

std::string ResponsesWriter::OpenCall(const std::string& name) {
  const Tool* tool = FindTool(tools_, name);
  const bool custom = tool != nullptr && tool->kind == Tool::Kind::kCustom;
  Json item = {{"id", ItemId(custom ? "ctc_" : "fc_")},
               {"type", custom ? "custom_tool_call" : "function_call"},
               {"status", "in_progress"},
               {"call_id", ItemId("call_")},
               {"name", tool != nullptr ? tool->name : name}};
  if (tool != nullptr && !tool->space.empty()) item["namespace"] = tool->space;
  item[custom ? "input" : "arguments"] = "";
  return Open(custom ? ItemKind::kCustom : ItemKind::kFunction, std::move(item));
}

std::string ResponsesWriter::Delta(const std::string& text, Json logprobs) {
  if (text.empty()) return {};
  open_->text += text;
  Json members = ContentPlace();
  members["delta"] = text;
  if (open_->kind == ItemKind::kMessage) {
    for (const Json& entry : logprobs) open_->logprobs.push_back(entry);
    members["logprobs"] = std::move(logprobs);
  }
  return ItemEvent(std::string(ContentName()) + ".delta", members);
}

std::string ResponsesWriter::AddText(ItemKind kind, const std::string& text, Json& logprobs) {
  if (text.empty()) return {};
  std::string events;
  if (open_ && open_->kind != kind) events += Close(false);
  if (!open_) {
    Json item;
    if (kind == ItemKind::kMessage) {
      item = {{"id", ItemId("msg_")},
              {"type", "message"},
              {"status", "in_progress"},
              {"role", "assistant"},
              {"content", Json::array()}};
    } else {
      item = {{"id", ItemId("rs_")},
              {"type", "reasoning"},
              {"status", "in_progress"},
              {"summary", Json::array()},
              {"content", Json::array()}};
    }
    events += Open(kind, std::move(item));
  }
  return events + Delta(text, std::exchange(logprobs, Json::array()));
}

std::string ResponsesWriter::AddArguments(const std::string& json) {
  if (!open_ || !IsCall()) return {};
  if (open_->kind == ItemKind::kCustom) return Delta(open_->input.Add(json), {});
  return Delta(json, {});
}

std::string ResponsesWriter::AddPiece(const ReplyPiece& piece, Json& logprobs) {
  switch (piece.kind) {
    case ReplyPiece::Kind::kText:
      return AddText(ItemKind::kMessage, piece.text, logprobs);
    case ReplyPiece::Kind::kReasoning:
      return AddText(ItemKind::kReasoning, piece.text, logprobs);
    case ReplyPiece::Kind::kCallStart: {
      std::string events = Close(false);
      return events + OpenCall(piece.text);
    }
    case ReplyPiece::Kind::kCallArguments:
      return AddArguments(piece.text);
    case ReplyPiece::Kind::kCallEnd:
      return Close(false);
  }
  return {};
}

// Tokens may come before the text that they make is certain; those of other pieces have no place.
std::string ResponsesWriter::Add(int choice, const ReplyAddition& addition) {
  if (choice != 0) return {};
  if (addition.logprobs.is_object() && addition.logprobs.contains("content")) {
    for (const Json& entry : addition.logprobs["content"]) waiting_logprobs_.push_back(entry);
  }
  std::string events;
  for (const ReplyPiece& piece : addition.pieces) {
    events += AddPiece(piece, waiting_logprobs_);
    if (piece.kind != ReplyPiece::Kind::kText) waiting_logprobs_ = Json::array();
  }
  return events;
}

Json ResponsesWriter::DoneItem(const char* status) const {
  Json item = open_->item;
  item["status"] = status;
  switch (open_->kind) {
    case ItemKind::kMessage:
      item["content"].push_back(ContentPart(open_->text));
      break;
    case ItemKind::kReasoning:
      if (summary_) item["summary"].push_back(ContentPart(open_->text));
      item["content"].push_back({{"type", "reasoning_text"}, {"text", open_->text}});
      item["encrypted_content"] = EncryptedContent(open_->text);
      break;
    case ItemKind::kFunction:
      item["arguments"] = open_->text;
      break;
    case ItemKind::kCustom:
      item["input"] = open_->text;
      break;
  }
  return item;
}

std::string ResponsesWriter::ContentDone() {
  Json done = ContentPlace();
  const std::string name(ContentName());
  if (open_->kind == ItemKind::kCustom) {
    done["input"] = open_->text;
    return ItemEvent(name + ".done", done);
  }
  if (open_->kind == ItemKind::kFunction) {
    done["name"] = open_->item["name"];
    done["arguments"] = open_->text;
    return ItemEvent(name + ".done", done);
  }
  done["text"] = open_->text;
  if (open_->kind == ItemKind::kMessage) done["logprobs"] = open_->logprobs;
  Json part = ContentPlace();
  part["part"] = ContentPart(open_->text);
  const bool is_summary = open_->kind == ItemKind::kReasoning && summary_;
  std::string events = ItemEvent(name + ".done", done);
  return events +=
         ItemEvent(is_summary ? "reasoning_summary_part.done" : "content_part.done", part);
}

std::string ResponsesWriter::Close(bool is_cut) {
  if (!open_) return {};
  std::string events;
  const bool untold = is_cut && IsCall();
  if (open_->kind == ItemKind::kCustom) {
    // What was held back belongs to the text, but in a cut one may be half of something.
    const std::string rest = untold ? "" : open_->input.End();
    events += Delta(rest, {});
  }
  Json item = DoneItem(is_cut ? "incomplete" : "completed");
  if (!untold) {
    events += ContentDone();
    events +=
        Event("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
  }
  output_.push_back(std::move(item));
  open_.reset();
  return events;
}

// A model that says nothing has still said so: its empty message keeps the conversation's form.
std::string ResponsesWriter::EndChoice(int choice, const ChoiceEnd& end) {
  if (choice != 0) return {};
  reason_ = end.reason;
  std::string events = Close(end.reason != FinishReason::kStop);
  if (!output_.empty() || end.reason == FinishReason::kError) return events;
  events += Open(ItemKind::kMessage, {{"id", ItemId("msg_")},
                                      {"type", "message"},
                                      {"status", "in_progress"},
                                      {"role", "assistant"},
                                      {"content", Json::array()}});
  return events + Close(end.reason != FinishReason::kStop);
}

std::string ResponsesWriter::Finish(const ReplyTotals& totals) {
  if (reason_ == FinishReason::kError || reason_ == FinishReason::kCancelled) {
    return Fail({.kind = ApiError::Kind::kInternal,
                 .message = reason_ == FinishReason::kError ? "The reply failed."
                                                            : "The reply was cancelled."});
  }
  const bool whole = reason_ == FinishReason::kStop;
  document_ = ResponseJson(start_, whole ? "completed" : "incomplete", output_, echo_);
  if (!whole) document_["incomplete_details"] = {{"reason", "max_output_tokens"}};
  document_["usage"] = ResponseUsageJson(totals);
  return ResponseEvent(whole ? "response.completed" : "response.incomplete");
}

std::string ResponsesWriter::Fail(const ApiError& error) {
  open_.reset();
  document_ = ResponseJson(start_, "failed", output_, echo_);
  document_["error"] = ResponseErrorJson(error);
  return ResponseEvent("response.failed");
}

}  // namespace folio
