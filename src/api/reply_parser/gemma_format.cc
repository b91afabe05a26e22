// Google's guide to calling functions with Gemma 3 says that it has no marks for it: the prompt
// asks for {"name": NAME, "parameters": {...}} and the framework looks whether the reply is that.
// Models put it into a fence at times, the guides' tool_code among them. Taken are objects that
// call a tool that is offered, and the tags of Hermes, in which Folio's own prompts describe tools.
#include <cstdint>

#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/call_objects.h"

namespace folio {
namespace {

constexpr std::string_view kFence = "```";

class FencedBody : public CallBody {
 public:
  explicit FencedBody(const CallRules& rules) : objects_(rules) {}

  CallStep Take(char c, PieceWriter& out) override {
    if (closing_) return Close(c);
    const CallStep step = objects_.Take(c, out);
    if (step == CallStep::kEnd) {
      closing_ = true;
      return CallStep::kTold;
    }
    if (step != CallStep::kEndBefore) return step;
    closing_ = true;
    return Close(c);
  }

 private:
  CallStep Close(char c) {
    if (fence_ == 0 && IsBlank(c)) return CallStep::kTold;
    if (c != '`') return CallStep::kEndBefore;
    return ++fence_ == kFence.size() ? CallStep::kEnd : CallStep::kTold;
  }

  CallObjects objects_;
  bool closing_ = false;
  std::size_t fence_ = 0;  // of its characters
};

std::unique_ptr<CallBody> Begin(std::string_view mark, const CallRules& rules) {
  if (mark == "<tool_call>") return std::make_unique<CallObjects>(CallRules{});
  if (mark.starts_with(kFence)) return std::make_unique<FencedBody>(rules);
  return std::make_unique<CallObjects>(rules);
}

}  // namespace

CallFormat GemmaFormat(std::span<const Tool> tools) {
  return {.opening = {"<tool_call>", "```json", "```tool_code", "```tool_call"},
          .closing = {"</tool_call>"},
          .inner = {},
          .bare = true,
          .begin = [tools](std::string_view mark) { return Begin(mark, {.only = tools}); }};
}

}  // namespace folio
