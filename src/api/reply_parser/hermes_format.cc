// <tool_call>\n{"name": NAME, "arguments": {...}}\n</tool_call>, as often as there are calls. The
// prompt format of Nous Research's Hermes 2 Pro; the chat templates of Qwen 2.5 and 3, Granite 4,
// SmolLM3 and many others render and ask for the same.
#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/call_objects.h"

namespace folio {

CallFormat HermesFormat() {
  // Models close one brace too many at times.
  return {.opening = {"<tool_call>"},
          .closing = {"</tool_call>", "}"},
          .inner = {},
          .bare = false,
          .begin = [](std::string_view) { return std::make_unique<CallObjects>(CallRules{}); }};
}

}  // namespace folio
