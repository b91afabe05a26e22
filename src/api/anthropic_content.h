// Content of Anthropic's dialect that becomes plain text: a string, or blocks of it.
#ifndef FOLIO_API_ANTHROPIC_CONTENT_H_
#define FOLIO_API_ANTHROPIC_CONTENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/anthropic_marks.h"
#include "api/fields.h"

namespace folio {

// What reading one body collects on the way.
struct AnthropicReading {
  bool drop_media = false;  // images and documents become a note instead of a refusal
  AnthropicMarks marks;
  std::vector<std::string> left_out;  // ApiRequest::notes

  void LeaveOut(const Fields& block, std::string_view type, std::string_view why);
};

// The text of a block of `type`, its mark read: of text, of a search_result, of a tool_reference,
// of media as `reading` has it. Any other type is refused; `allowed` names those that aren't.
std::string BlockText(Fields& block, std::string_view type, std::int64_t message,
                      std::string_view allowed, AnthropicReading& reading);

// The text of the member `name` of `fields`: absent and null are "", blocks are joined as they
// are, so that how a client cuts its text changes nothing.
std::string ContentText(Fields& fields, std::string_view name, std::int64_t message,
                        AnthropicReading& reading);

// The body's system prompt: a string or text blocks. A block that is a header line of a client's
// own (prefix_hygiene.h) keeps to a line of its own.
std::string SystemText(Fields& body, AnthropicReading& reading);

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_CONTENT_H_
