#include "api/reply_parser/piece_writer.h"

#include <utility>

namespace folio {

void PieceWriter::Into(std::vector<ReplyPiece>& pieces) {
  pieces_ = &pieces;
  first_ = pieces.size();
}

void PieceWriter::Add(ReplyPiece::Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (pieces_->size() > first_ && pieces_->back().kind == kind) {
    pieces_->back().text += text;
  } else {
    pieces_->push_back({.kind = kind, .text = std::string(text)});
  }
}

void PieceWriter::Text(std::string_view text) {
  call_open_ = false;
  Add(ReplyPiece::Kind::kText, text);
}

void PieceWriter::Reasoning(std::string_view text) {
  call_open_ = false;
  Add(ReplyPiece::Kind::kReasoning, text);
}

void PieceWriter::StartCall(std::string name) {
  call_open_ = true;
  has_arguments_ = false;
  ++calls_started_;
  pieces_->push_back({.kind = ReplyPiece::Kind::kCallStart, .text = std::move(name)});
}

void PieceWriter::Arguments(std::string_view text) {
  has_arguments_ = has_arguments_ || !text.empty();
  Add(ReplyPiece::Kind::kCallArguments, text);
}

void PieceWriter::EndCall() {
  if (!has_arguments_) Arguments("{}");
  call_open_ = false;
  pieces_->push_back({.kind = ReplyPiece::Kind::kCallEnd, .text = {}});
}

}  // namespace folio
