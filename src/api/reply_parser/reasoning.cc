#include "api/reply_parser/reasoning.h"

#include <utility>

#include "api/reply_parser/call_body.h"

namespace folio {

Reasoning::Reasoning(std::string_view open, std::string_view close, bool inside,
                     std::unique_ptr<ReplyStage> next)
    : open_(open),
      close_(close),
      next_(std::move(next)),
      state_(inside ? State::kInside : State::kStart),
      opening_({open}),
      closing_({close}) {}

bool Reasoning::Knows(std::string_view mark) const {
  return mark == open_ || mark == close_ || next_->Knows(mark);
}

void Reasoning::Byte(char c, PieceWriter& out) {
  switch (state_) {
    case State::kStart:
      return AtStart(c, out);
    case State::kInside:
      return Inside(c, out);
    case State::kBehind:
      if (IsBlank(c)) return;
      state_ = State::kNext;
      return next_->Byte(c, out);
    case State::kNext:
      return next_->Byte(c, out);
  }
}

// A mark inside of reasoning, of calls or another of its own, is what it spells.
void Reasoning::Control(std::string_view mark, PieceWriter& out) {
  const bool mine = !next_->Knows(mark);
  if (mine || state_ == State::kInside) {
    for (const char c : mark) Byte(c, out);
    return;
  }
  if (state_ == State::kStart) PassHeld(out);
  state_ = State::kNext;
  next_->Control(mark, out);
}

void Reasoning::End(PieceWriter& out) {
  if (state_ == State::kStart) PassHeld(out);
  if (state_ == State::kInside) {
    std::string released;
    closing_.Release(released);
    for (const char c : released) Tell(c, out);
    out.Reasoning(blanks_);
  }
  next_->End(out);
}

void Reasoning::AtStart(char c, PieceWriter& out) {
  std::string released;
  if (!opening_.Take(c, released).empty()) {
    blanks_.clear();
    state_ = State::kInside;
    return;
  }
  blanks_ += released;
  const bool blank = released.empty() || (released.size() == 1 && IsBlank(released.front()));
  if (!blank || blanks_.size() > kLongestBlank) PassHeld(out);
}

void Reasoning::Inside(char c, PieceWriter& out) {
  std::string released;
  const bool closed = !closing_.Take(c, released).empty();
  for (const char plain : released) Tell(plain, out);
  if (!closed) return;
  blanks_.clear();
  state_ = State::kBehind;
}

void Reasoning::Tell(char c, PieceWriter& out) {
  if (IsBlank(c)) {
    if (nothing_inside_) return;
    blanks_ += c;
    if (blanks_.size() <= kLongestBlank) return;
    out.Reasoning(std::string_view(blanks_).substr(0, 1));
    blanks_.erase(blanks_.begin());
    return;
  }
  nothing_inside_ = false;
  out.Reasoning(blanks_);
  blanks_.clear();
  out.Reasoning({&c, 1});
}

void Reasoning::Pass(std::string_view text, PieceWriter& out) {
  for (const char c : text) next_->Byte(c, out);
}

void Reasoning::PassHeld(PieceWriter& out) {
  state_ = State::kNext;
  opening_.Release(blanks_);
  Pass(std::exchange(blanks_, {}), out);
}

}  // namespace folio
