// <|tool_call|>[{"name": NAME, "arguments": {...}}, ...]: IBM's prompt guide of Granite 3; Phi 4
// mini closes the list with <|/tool_call|>.
#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/call_objects.h"

namespace folio {

CallFormat GraniteFormat() {
  return {.opening = {"<|tool_call|>"},
          .closing = {"<|/tool_call|>"},
          .inner = {},
          .bare = false,
          .begin = [](std::string_view) { return std::make_unique<CallObjects>(CallRules{}); }};
}

}  // namespace folio
