// Server-sent events as they stand on the wire (HTML Standard, 9.2).
#ifndef FOLIO_API_SSE_EVENT_H_
#define FOLIO_API_SSE_EVENT_H_

#include <string>
#include <string_view>

#include "formats/json.h"

namespace folio {

// JSON text is one line: it never has a line break that would end an event.
inline std::string SseData(const Json& data) { return "data: " + DumpJson(data) + "\n\n"; }

// `name` has no line break.
inline std::string SseEvent(std::string_view name, const Json& data) {
  return "event: " + std::string(name) + "\n" + SseData(data);
}

// Readers skip it, but see that the connection lives. `text` has no line break.
inline std::string SseComment(std::string_view text) { return ": " + std::string(text) + "\n\n"; }

}  // namespace folio

#endif  // FOLIO_API_SSE_EVENT_H_
