// V3.1: <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>, once a call. V3 and R1:
// <｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n{...}\n```<｜tool▁call▁end｜>. All of
// a reply's between <｜tool▁calls▁begin｜> and <｜tool▁calls▁end｜>. As the chat templates in
// DeepSeek's repositories render them.
#include <cstdint>
#include <string>
#include <utility>

#include "api/reply_parser/argument_stream.h"
#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/mark_matcher.h"

namespace folio {
namespace {

constexpr std::string_view kCallsBegin = "<｜tool▁calls▁begin｜>";
constexpr std::string_view kCallBegin = "<｜tool▁call▁begin｜>";
constexpr std::string_view kSeparator = "<｜tool▁sep｜>";
constexpr std::string_view kCallEnd = "<｜tool▁call▁end｜>";
constexpr std::string_view kCallsEnd = "<｜tool▁calls▁end｜>";
constexpr std::string_view kFence = "```";

// From behind a call's opening mark, or behind that of several.
class DeepSeekBody : public CallBody {
 public:
  explicit DeepSeekBody(std::string_view mark)
      : state_(mark == kCallsBegin ? State::kBefore : State::kHeader) {}

  CallStep Take(char c, PieceWriter& out) override {
    switch (state_) {
      case State::kBefore:
        return Before(c);
      case State::kHeader:
        return Header(c);
      case State::kBehindSeparator:
        return BehindSeparator(c, out);
      case State::kArguments:
        return Arguments(c, out);
    }
    return CallStep::kBroken;
  }

 private:
  enum class State : std::uint8_t { kBefore, kHeader, kBehindSeparator, kArguments };

  CallStep Before(char c) {
    if (matched_ == 0 && IsBlank(c)) return CallStep::kMore;
    if (c != kCallBegin[matched_]) return CallStep::kBroken;
    if (++matched_ == kCallBegin.size()) state_ = State::kHeader;
    return CallStep::kMore;
  }

  CallStep Header(char c) {
    if (!separator_.Take(c, header_).empty()) state_ = State::kBehindSeparator;
    return header_.size() <= kLongestHeader ? CallStep::kMore : CallStep::kBroken;
  }

  // V3.1's arguments come at once; else the name, and a fence around them.
  CallStep BehindSeparator(char c, PieceWriter& out) {
    if (c != '{') {
      body_ += c;
      return body_.size() <= kLongestHeader ? CallStep::kMore : CallStep::kBroken;
    }
    const std::string_view name = Name();
    if (name.empty()) return CallStep::kBroken;
    out.StartCall(std::string(name));
    state_ = State::kArguments;
    return Arguments(c, out);
  }

  // Empty if what stands in front of the arguments names nothing.
  std::string_view Name() const {
    const std::string_view body = Trimmed(body_);
    if (body.empty()) return Trimmed(header_);
    const auto line = body.find('\n');
    const std::string_view fence = line == body.npos ? "" : Trimmed(body.substr(line));
    const bool fits = fence.empty() || fence == kFence || fence == "```json";
    return fits ? Trimmed(body.substr(0, line)) : std::string_view();
  }

  CallStep Arguments(char c, PieceWriter& out) {
    std::string told;
    const JsonScanner::Step step = stream_.Take(c, told);
    out.Arguments(told);
    if (step == JsonScanner::Step::kMore) return CallStep::kMore;
    if (step != JsonScanner::Step::kEnd) return CallStep::kBroken;
    out.EndCall();
    return CallStep::kEnd;
  }

  State state_;
  std::size_t matched_ = 0;  // of kCallBegin
  MarkMatcher separator_{{kSeparator}};
  std::string header_;  // in front of the separator
  std::string body_;    // behind it
  ArgumentStream stream_;
};

}  // namespace

CallFormat DeepSeekFormat() {
  return {.opening = {kCallsBegin, kCallBegin},
          .closing = {kCallEnd, kCallsEnd, kFence},
          .inner = {kSeparator},
          .bare = false,
          .begin = [](std::string_view mark) { return std::make_unique<DeepSeekBody>(mark); }};
}

}  // namespace folio
