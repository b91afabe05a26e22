#include "api/reply_parser/harmony.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/reply_parser/call_body.h"

namespace folio {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::array<std::string_view, 7> kMarks = {kStart,    kChannel,   kConstrain,  kMessage,
                                                    "<|end|>", "<|call|>", "<|return|>"};

constexpr std::string_view kTo = "to=";
constexpr std::string_view kFunctions = "functions.";

std::string_view NextWord(std::string_view& text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  const auto* const end = std::ranges::find_if(text, IsBlank);
  const std::string_view word(text.begin(), end);
  text.remove_prefix(word.size());
  return word;
}

// Whether it may be, or become, what a header says in front of its channel.
bool MayAddress(std::string_view header) {
  header = Trimmed(header);
  return kTo.starts_with(header) || header.starts_with(kTo);
}

}  // namespace

Harmony::Harmony(bool marks_in_text)
    : marks_in_text_(marks_in_text), matcher_({kMarks.begin(), kMarks.end()}) {}

bool Harmony::Knows(std::string_view mark) const {
  return std::ranges::find(kMarks, mark) != kMarks.end();
}

void Harmony::Byte(char c, PieceWriter& out) {
  // A string of the arguments may spell a mark.
  if (!marks_in_text_ || state_ == State::kArguments) return Plain(c, out);
  std::string released;
  const std::string_view mark = matcher_.Take(c, released);
  for (const char plain : released) Plain(plain, out);
  if (!mark.empty()) Mark(mark, out);
}

void Harmony::Control(std::string_view mark, PieceWriter& out) {
  std::string released;
  matcher_.Release(released);
  for (const char plain : released) Plain(plain, out);
  Mark(mark, out);
}

void Harmony::End(PieceWriter& out) {
  std::string released;
  matcher_.Release(released);
  for (const char plain : released) Plain(plain, out);
  if (state_ == State::kReply) {
    reasoning_ = false;
    Tell(header_, out);
  }
  // A call without arguments would look the same if it was cut short.
  if (state_ == State::kRecipient) Tell(blanks_, out);
}

void Harmony::Mark(std::string_view mark, PieceWriter& out) {
  const bool in_header = state_ == State::kReply || state_ == State::kHeader;
  if (mark == kMessage) {
    if (in_header) BeginContent();
    return;
  }
  if (mark == kConstrain && !in_header) return;
  if (!in_header) EndMessage(out);
  if (mark == kChannel || mark == kConstrain) {
    state_ = State::kHeader;
    if (header_.size() >= kLongestHeader) return;
    header_ += ' ';  // the words on both sides are two
    header_ += mark;
    header_ += ' ';
    return;
  }
  header_.clear();
  state_ = mark == kStart ? State::kHeader : State::kReply;
}

void Harmony::Plain(char c, PieceWriter& out) {
  switch (state_) {
    case State::kReply:
    case State::kHeader:
      return Header(c, out);
    case State::kContent:
      return Tell({&c, 1}, out);
    case State::kRecipient:
      if (c == '{') return BeginCall(out);
      if (IsBlank(c) && blanks_.size() < kLongestBlank) {
        blanks_ += c;
        return;
      }
      state_ = State::kContent;  // no function's arguments: code for a tool that isn't here
      Tell(std::exchange(blanks_, {}), out);
      return Tell({&c, 1}, out);
    case State::kArguments:
      return Arguments(c, out);
    case State::kLeftOut:
      return;
  }
}

// A reply that doesn't begin as the format wants is text.
void Harmony::Header(char c, PieceWriter& out) {
  if (header_.size() < kLongestHeader) header_ += c;
  if (state_ == State::kHeader || MayAddress(header_)) return;
  recipient_.clear();
  reasoning_ = false;
  message_begins_ = true;
  state_ = State::kContent;
  Tell(std::exchange(header_, {}), out);
}

void Harmony::BeginContent() {
  recipient_.clear();
  reasoning_ = false;
  bool channel = false;
  std::string_view rest = header_;
  for (std::string_view word = NextWord(rest); !word.empty(); word = NextWord(rest)) {
    if (channel && word == "analysis") reasoning_ = true;
    channel = word == kChannel;
    if (!word.starts_with(kTo)) continue;
    word.remove_prefix(kTo.size());
    if (word.starts_with(kFunctions)) word.remove_prefix(kFunctions.size());
    recipient_ = word;
  }
  header_.clear();
  const bool everyone = recipient_.empty() || recipient_ == "all" || recipient_ == "user" ||
                        recipient_ == "assistant";
  state_ = everyone ? State::kContent : State::kRecipient;
  blanks_.clear();
  message_begins_ = true;
}

void Harmony::BeginCall(PieceWriter& out) {
  out.StartCall(recipient_);
  last_ = Told::kNothing;
  stream_ = ArgumentStream();
  state_ = State::kArguments;
  Arguments('{', out);
}

void Harmony::Arguments(char c, PieceWriter& out) {
  std::string told;
  const JsonScanner::Step step = stream_.Take(c, told);
  out.Arguments(told);
  if (step == JsonScanner::Step::kMore) return;
  if (step == JsonScanner::Step::kEnd) out.EndCall();
  state_ = State::kLeftOut;
  // The byte may be a mark's first.
  if (step != JsonScanner::Step::kEnd) Byte(c, out);
}

void Harmony::Tell(std::string_view text, PieceWriter& out) {
  if (text.empty()) return;
  const Told kind = reasoning_ ? Told::kReasoning : Told::kText;
  const std::string_view between = message_begins_ && last_ == kind ? "\n\n" : "";
  message_begins_ = false;
  last_ = kind;
  if (reasoning_) {
    out.Reasoning(between);
    out.Reasoning(text);
  } else {
    out.Text(between);
    out.Text(text);
  }
}

void Harmony::EndMessage(PieceWriter& out) {
  if (state_ != State::kRecipient) return;
  out.StartCall(recipient_);
  out.EndCall();
  last_ = Told::kNothing;
}

}  // namespace folio
