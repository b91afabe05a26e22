// The arguments of a call as a model writes them: one JSON object, followed byte by byte.
#ifndef FOLIO_API_REPLY_PARSER_ARGUMENT_STREAM_H_
#define FOLIO_API_REPLY_PARSER_ARGUMENT_STREAM_H_

#include <string>

#include "api/reply_parser/json_scanner.h"

namespace folio {

// Appends `c` as a string of JSON spells it. Bytes of longer characters stay as they are.
void AppendEscaped(char c, std::string& text);

class ArgumentStream {
 public:
  // The next byte, the first being the object's {. What there is to tell of it, perhaps more than
  // the byte, is appended to `told`.
  JsonScanner::Step Take(char c, std::string& told);

 private:
  JsonScanner scanner_{/*raw_controls=*/true};
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_ARGUMENT_STREAM_H_
