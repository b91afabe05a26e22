// The reply is {"name": NAME, "parameters": {...}}, perhaps behind <|python_tag|>; several with
// semicolons in between. Meta's model cards of Llama 3.1 to 3.3 and their chat templates. Nothing
// marks such a reply but what it says, so the name must be one of the tools offered.
#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/call_objects.h"

namespace folio {

CallFormat Llama3Format(std::span<const Tool> tools) {
  return {.opening = {"<|python_tag|>"},
          .closing = {},
          .inner = {},
          .bare = true,
          .begin = [tools](std::string_view) {
            return std::make_unique<CallObjects>(CallRules{.only = tools});
          }};
}

}  // namespace folio
