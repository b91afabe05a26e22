// One server-sent event (HTML Standard, 9.2) with a name and a JSON document as its data.
#ifndef FOLIO_API_SSE_EVENT_H_
#define FOLIO_API_SSE_EVENT_H_

#include <string>
#include <string_view>

#include "formats/json.h"

namespace folio {

// `name` has no line break; JSON text never has one.
inline std::string SseEvent(std::string_view name, const Json& data) {
  return "event: " + std::string(name) + "\ndata: " + DumpJson(data) + "\n\n";
}

}  // namespace folio

#endif  // FOLIO_API_SSE_EVENT_H_
