// <tool_call>\n<function=NAME>\n<parameter=KEY>\nVALUE\n</parameter>\n ...
// </function>\n</tool_call>: the chat templates of Qwen3-Coder and Qwen 3.5, and of others since.
// Models leave out the outer tag at times.
#include <cstdint>
#include <string>
#include <utility>

#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/mark_matcher.h"
#include "api/reply_parser/xml_arguments.h"

namespace folio {
namespace {

constexpr std::string_view kCall = "<tool_call>";
constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kFunctionEnd = "</function>";

class QwenXmlBody : public CallBody {
 public:
  QwenXmlBody(std::string_view mark, std::span<const Tool> tools)
      : tools_(tools), state_(mark == kFunction ? State::kName : State::kBefore) {}

  CallStep Take(char c, PieceWriter& out) override {
    switch (state_) {
      case State::kBefore:
        return Tag(c, kFunction, State::kName);
      case State::kName:
        return Name(c, out);
      case State::kBetween:
        return Between(c, out);
      case State::kKey:
        return Key(c, out);
      case State::kValue:
        return Value(c, out);
    }
    return CallStep::kBroken;
  }

 private:
  enum class State : std::uint8_t { kBefore, kName, kBetween, kKey, kValue };

  // One more byte of `tag`, with white space in front.
  CallStep Tag(char c, std::string_view tag, State behind) {
    if (text_.empty() && IsBlank(c)) return CallStep::kMore;
    if (c != tag[text_.size()]) return CallStep::kBroken;
    text_ += c;
    if (text_.size() == tag.size()) {
      text_.clear();
      state_ = behind;
    }
    return CallStep::kMore;
  }

  // One more byte of what stands up to >; true if it is whole, in text_.
  bool Header(char c, bool& broken) {
    broken = c == '<' || c == '\n' || text_.size() == kLongestHeader ||
             (c == '>' && Trimmed(text_).empty());
    if (broken || c == '>') return !broken;
    text_ += c;
    return false;
  }

  CallStep Name(char c, PieceWriter& out) {
    bool broken = false;
    if (!Header(c, broken)) return broken ? CallStep::kBroken : CallStep::kMore;
    std::string name(Trimmed(text_));
    text_.clear();
    arguments_ = XmlArguments(FindTool(tools_, name));
    out.StartCall(std::move(name));
    state_ = State::kBetween;
    return CallStep::kMore;
  }

  CallStep Between(char c, PieceWriter& out) {
    // The two tags part at their second byte.
    if (!text_.starts_with("</")) {
      if (text_ != "<" || c != '/') return Tag(c, kParameter, State::kKey);
      text_ += c;
      return CallStep::kMore;
    }
    if (c != kFunctionEnd[text_.size()]) return CallStep::kBroken;
    text_ += c;
    if (text_.size() < kFunctionEnd.size()) return CallStep::kMore;
    arguments_.End(out);
    return CallStep::kEnd;
  }

  CallStep Key(char c, PieceWriter& out) {
    bool broken = false;
    if (!Header(c, broken)) return broken ? CallStep::kBroken : CallStep::kMore;
    arguments_.BeginValue(Trimmed(text_), out);
    text_.clear();
    state_ = State::kValue;
    return CallStep::kMore;
  }

  CallStep Value(char c, PieceWriter& out) {
    std::string released;
    const bool whole = !value_end_.Take(c, released).empty();
    for (const char byte : released) {
      if (!arguments_.Take(byte, out)) return CallStep::kBroken;
    }
    if (!whole) return CallStep::kMore;
    arguments_.EndValue(out);
    state_ = State::kBetween;
    return CallStep::kMore;
  }

  std::span<const Tool> tools_;
  State state_;
  std::string text_;  // of a tag, a name or a key
  XmlArguments arguments_;
  MarkMatcher value_end_{{"</parameter>"}};
};

}  // namespace

CallFormat QwenXmlFormat(std::span<const Tool> tools) {
  return {.opening = {kCall, kFunction},
          .closing = {"</tool_call>", kFunctionEnd},
          .inner = {},
          .bare = false,
          .begin = [tools](std::string_view mark) {
            return std::make_unique<QwenXmlBody>(mark, tools);
          }};
}

}  // namespace folio
