// [TOOL_CALLS][{"name": NAME, "arguments": {...}, "id": ...}, ...], and since the tokenizers of
// 2025 [TOOL_CALLS]NAME[ARGS]{...} for each call, with [CALL_ID]ID behind the name in some. As
// Mistral's mistral-common describes and its chat templates render them. The ids are made up by the
// model and not told: a dialect gives its own.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "api/reply_parser/argument_stream.h"
#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/call_objects.h"

namespace folio {
namespace {

bool IsNameByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte != '"' && byte != '{' && byte != '}' && byte != '[' && byte != ']' &&
         byte != '<' && byte != 0x7f;
}

// The name in NAME, NAME[ARGS] or NAME[CALL_ID]ID[ARGS]; empty if it is none of them.
std::string_view NameIn(std::string_view header) {
  header = Trimmed(header);
  const auto mark = header.find('[');
  const std::string_view name = header.substr(0, mark);
  if (mark == header.npos) return name;
  const std::string_view marks = header.substr(mark);
  const bool fits =
      marks == "[ARGS]" || (marks.starts_with("[CALL_ID]") && marks.ends_with("[ARGS]"));
  return fits ? name : std::string_view();
}

class MistralBody : public CallBody {
 public:
  CallStep Take(char c, PieceWriter& out) override {
    switch (state_) {
      case State::kBefore:
        return Begin(c, out);
      case State::kHeader:
        return Header(c, out);
      case State::kArguments:
        return Arguments(c, out);
      case State::kObjects:
        return objects_.Take(c, out);
    }
    return CallStep::kBroken;
  }

 private:
  enum class State : std::uint8_t { kBefore, kHeader, kArguments, kObjects };

  CallStep Begin(char c, PieceWriter& out) {
    if (IsBlank(c)) return CallStep::kMore;
    state_ = c == '[' || c == '{' ? State::kObjects : State::kHeader;
    return Take(c, out);
  }

  CallStep Header(char c, PieceWriter& out) {
    if (c == '{') {
      const std::string_view name = NameIn(header_);
      if (name.empty()) return CallStep::kBroken;
      out.StartCall(std::string(name));
      state_ = State::kArguments;
      return Arguments(c, out);
    }
    // A sentence is no name: told at once, not when a brace comes.
    const bool in_name = !header_.contains('[');
    if (in_name && !IsNameByte(c) && c != '[') return CallStep::kBroken;
    if (c == '\n' || header_.size() == kLongestHeader) return CallStep::kBroken;
    header_ += c;
    return CallStep::kMore;
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

  State state_ = State::kBefore;
  std::string header_;
  ArgumentStream stream_;
  CallObjects objects_{CallRules{}};
};

}  // namespace

CallFormat MistralFormat() {
  return {.opening = {"[TOOL_CALLS]"},
          .closing = {},
          .inner = {"[ARGS]", "[CALL_ID]"},
          .bare = false,
          .begin = [](std::string_view) { return std::make_unique<MistralBody>(); }};
}

}  // namespace folio
