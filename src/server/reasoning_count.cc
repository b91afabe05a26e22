#include "server/reasoning_count.h"

#include <algorithm>
#include <utility>

namespace folio {
namespace {

bool IsText(const ReplyPiece& piece) {
  return piece.kind == ReplyPiece::Kind::kText || piece.kind == ReplyPiece::Kind::kReasoning ||
         piece.kind == ReplyPiece::Kind::kCallArguments;
}

}  // namespace

void ReasoningCount::AddToken(std::size_t bytes) {
  drawn_ += bytes;
  ends_.push_back(drawn_);
}

std::size_t ReasoningCount::UpToTokensEnd(std::size_t most) const {
  const auto end = std::ranges::upper_bound(ends_, told_);
  return end == ends_.end() ? most : std::min(most, *end - told_);
}

void ReasoningCount::Told(std::size_t bytes, std::span<const ReplyPiece> made) {
  told_ += bytes;
  while (!ends_.empty() && ends_.front() <= told_) {
    whole_end_ = ends_.front();
    ends_.pop_front();
    ++whole_;
  }
  const auto is_reasoning = [](const ReplyPiece& piece) {
    return piece.kind == ReplyPiece::Kind::kReasoning;
  };
  if (std::ranges::none_of(made, is_reasoning)) return;
  const bool inside = !ends_.empty() && told_ > whole_end_;
  tokens_ = whole_ + (inside ? 1 : 0);
}

void JoinPieces(std::vector<ReplyPiece>& pieces) {
  std::vector<ReplyPiece> joined;
  for (ReplyPiece& piece : pieces) {
    if (!joined.empty() && IsText(piece) && joined.back().kind == piece.kind) {
      joined.back().text += piece.text;
    } else {
      joined.push_back(std::move(piece));
    }
  }
  pieces = std::move(joined);
}

}  // namespace folio
