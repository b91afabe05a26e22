#include "api/anthropic_writer.h"

#include <utility>

#include "api/anthropic_error.h"
#include "api/sse_event.h"

namespace folio {
namespace {

using Kind = AnthropicBlock::Kind;

}  // namespace

std::string AnthropicWriter::Begin(const ReplyStart& start) {
  start_ = start;
  const ReplyTotals so_far{.prompt_tokens = start.prompt_tokens,
                           .cached_tokens = start.cached_tokens};
  return SseEvent("message_start",
                  {{"type", "message_start"},
                   {"message", AnthropicMessageJson(start_, AnthropicUsageJson(so_far))}});
}

std::string AnthropicWriter::KeepAlive(std::string_view note) {
  return (note.empty() ? "" : SseComment(note)) + SseEvent("ping", {{"type", "ping"}});
}

std::string AnthropicWriter::Add(int choice, const ReplyAddition& addition) {
  std::string events;
  if (choice != 0) return events;
  for (const ReplyPiece& piece : addition.pieces) events += AddPiece(piece);
  return events;
}

std::string AnthropicWriter::AddPiece(const ReplyPiece& piece) {
  switch (piece.kind) {
    case ReplyPiece::Kind::kText:
      return AddText(Kind::kText, piece.text);
    case ReplyPiece::Kind::kReasoning:
      return AddText(Kind::kThinking, piece.text);
    case ReplyPiece::Kind::kCallArguments:
      return AddText(Kind::kToolUse, piece.text);
    case ReplyPiece::Kind::kCallStart:
      return OpenBlock({.kind = Kind::kToolUse,
                        .text = "",
                        .id = "toolu_" + start_.id + "_" + std::to_string(calls_++),
                        .name = piece.text});
    case ReplyPiece::Kind::kCallEnd:
      return CloseBlock();
  }
  return {};
}

std::string AnthropicWriter::AddText(Kind kind, const std::string& text) {
  if (text.empty()) return {};
  std::string events;
  if (!open_ || blocks_.back().kind != kind) {
    events = OpenBlock({.kind = kind, .text = "", .id = "", .name = ""});
  }
  blocks_.back().text += text;
  switch (kind) {
    case Kind::kText:
      return events + DeltaEvent({{"type", "text_delta"}, {"text", text}});
    case Kind::kThinking:
      if (options_.omit_thinking) return events;
      return events + DeltaEvent({{"type", "thinking_delta"}, {"thinking", text}});
    case Kind::kToolUse:
      return events + DeltaEvent({{"type", "input_json_delta"}, {"partial_json", text}});
  }
  return events;
}

std::string AnthropicWriter::OpenBlock(AnthropicBlock block) {
  std::string events = CloseBlock();
  blocks_.push_back(std::move(block));
  open_ = true;
  return events + SseEvent("content_block_start",
                           {{"type", "content_block_start"},
                            {"index", blocks_.size() - 1},
                            {"content_block", AnthropicBlockStartJson(blocks_.back())}});
}

std::string AnthropicWriter::CloseBlock() {
  if (!open_) return {};
  open_ = false;
  std::string events;
  if (blocks_.back().kind == Kind::kThinking) {
    events =
        DeltaEvent({{"type", "signature_delta"},
                    {"signature", ThinkingSignature(blocks_.back().text, options_.omit_thinking)}});
  }
  return events + SseEvent("content_block_stop",
                           {{"type", "content_block_stop"}, {"index", blocks_.size() - 1}});
}

std::string AnthropicWriter::DeltaEvent(Json delta) const {
  return SseEvent("content_block_delta", {{"type", "content_block_delta"},
                                          {"index", blocks_.size() - 1},
                                          {"delta", std::move(delta)}});
}

std::string AnthropicWriter::EndChoice(int choice, const ChoiceEnd& end) {
  if (choice != 0) return {};
  end_ = end;
  return CloseBlock();
}

// A reply that was cut before it reached what was asked for met the end of the context.
std::string AnthropicWriter::StopReason() const {
  if (end_.reason == FinishReason::kLength) {
    return totals_.generated_tokens < options_.max_tokens ? "model_context_window_exceeded"
                                                          : "max_tokens";
  }
  if (!end_.stop_string.empty()) return "stop_sequence";
  return calls_ > 0 ? "tool_use" : "end_turn";
}

Json AnthropicWriter::StopSequence() const {
  return StopReason() == "stop_sequence" ? Json(end_.stop_string) : Json();
}

std::string AnthropicWriter::Finish(const ReplyTotals& totals) {
  totals_ = totals;
  return SseEvent("message_delta",
                  {{"type", "message_delta"},
                   {"delta", {{"stop_reason", StopReason()}, {"stop_sequence", StopSequence()}}},
                   {"usage", AnthropicUsageJson(totals_)}}) +
         SseEvent("message_stop", {{"type", "message_stop"}});
}

std::string AnthropicWriter::Fail(const ApiError& error) {
  return SseEvent("error", AnthropicErrorJson(error));
}

Json AnthropicWriter::Document() const {
  Json message = AnthropicMessageJson(start_, AnthropicUsageJson(totals_));
  for (const AnthropicBlock& block : blocks_) {
    message["content"].push_back(AnthropicBlockJson(block, options_.omit_thinking));
  }
  message["stop_reason"] = StopReason();
  message["stop_sequence"] = StopSequence();
  return message;
}

}  // namespace folio
