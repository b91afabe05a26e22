#include "api/reply_parser/call_text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace folio {
namespace {

bool Has(const std::vector<std::string_view>& marks, std::string_view mark) {
  return std::ranges::find(marks, mark) != marks.end();
}

std::vector<std::string_view> MarksInText(const CallFormat& format, bool opens_in_text) {
  std::vector<std::string_view> marks = format.closing;
  if (opens_in_text) marks.insert(marks.end(), format.opening.begin(), format.opening.end());
  return marks;
}

}  // namespace

CallText::CallText(CallFormat format, bool opens_in_text)
    : format_(std::move(format)), matcher_(MarksInText(format_, opens_in_text)) {}

bool CallText::Opens(std::string_view mark) const { return Has(format_.opening, mark); }

bool CallText::Knows(std::string_view mark) const {
  return Opens(mark) || Has(format_.closing, mark) || Has(format_.inner, mark);
}

void CallText::Byte(char c, PieceWriter& out) {
  switch (state_) {
    case State::kText:
      return InText(c, out);
    case State::kCall:
      return InCall(c, out);
    case State::kBrokenCall:
      return InBrokenCall(c);
  }
}

// Inside of a call a control token is what it spells: a string of its arguments may hold one.
void CallText::Control(std::string_view mark, PieceWriter& out) {
  if (state_ == State::kCall || !Opens(mark)) {
    for (const char c : mark) Byte(c, out);
    return;
  }
  std::string released;
  matcher_.Release(released);
  if (state_ == State::kText) Plain(released, out);
  Open(mark);
}

void CallText::End(PieceWriter& out) {
  if (state_ == State::kCall) TellHeld(out);
  std::string released;
  matcher_.Release(released);
  // Behind a call it is the start of the mark that closes it, which was cut off.
  if (state_ != State::kText || after_call_) return;
  Plain(released, out);
  out.Text(blanks_);
}

void CallText::InText(char c, PieceWriter& out) {
  if (format_.bare && nothing_yet_ && c == '{' && !matcher_.holds()) {
    Open({});
    return InCall(c, out);
  }
  std::string released;
  const std::string_view mark = matcher_.Take(c, released);
  Plain(released, out);
  if (mark.empty()) return;
  if (Opens(mark)) {
    Open(mark);
  } else if (!after_call_) {
    Plain(mark, out);
  }
}

// Outside of a call, and no mark.
void CallText::Plain(char c, PieceWriter& out) {
  if (IsBlank(c)) {
    if (after_call_) return;
    blanks_ += c;
    const std::size_t most = format_.begin ? kLongestBlank : 0;
    if (blanks_.size() <= most) return;
    out.Text(std::string_view(blanks_).substr(0, 1));
    blanks_.erase(blanks_.begin());
    return;
  }
  out.Text(blanks_);
  blanks_.clear();
  out.Text({&c, 1});
  nothing_yet_ = false;
  after_call_ = false;
}

void CallText::Plain(std::string_view text, PieceWriter& out) {
  for (const char c : text) Plain(c, out);
}

void CallText::Open(std::string_view mark) {
  held_ = std::exchange(blanks_, {});
  held_ += mark;
  telling_ = false;
  body_ = format_.begin(mark);
  state_ = State::kCall;
}

void CallText::Leave() {
  state_ = State::kText;
  nothing_yet_ = false;
  after_call_ = true;
  held_.clear();
  telling_ = false;
}

void CallText::InCall(char c, PieceWriter& out) {
  const std::int64_t started = out.calls_started();
  const CallStep step = body_->Take(c, out);
  if (out.calls_started() != started) {
    telling_ = true;
    held_.clear();
  }
  switch (step) {
    case CallStep::kMore:
      if (telling_) return;
      held_ += c;
      if (held_.size() > kLongestHeld) TellHeld(out);
      return;
    case CallStep::kTold:
      telling_ = false;
      held_.clear();
      return;
    case CallStep::kEnd:
      return Leave();
    case CallStep::kEndBefore:
      Leave();
      return InText(c, out);
    case CallStep::kBroken:
      return Break(c, out);
  }
}

void CallText::Break(char c, PieceWriter& out) {
  if (telling_ && out.call_open()) {
    state_ = State::kBrokenCall;
    return InBrokenCall(c);
  }
  if (telling_) {
    Leave();
  } else {
    TellHeld(out);
  }
  InText(c, out);
}

// As text: it is no call.
void CallText::TellHeld(PieceWriter& out) {
  if (telling_) return;
  state_ = State::kText;
  // Its white space in front was held as blanks_, which after_call_ has emptied.
  Plain(std::exchange(held_, {}), out);
}

void CallText::InBrokenCall(char c) {
  std::string released;
  const std::string_view mark = matcher_.Take(c, released);
  if (mark.empty()) return;
  if (Opens(mark)) {
    Open(mark);
  } else if (mark != "}") {  // which closes only what isn't broken
    Leave();
  }
}

}  // namespace folio
