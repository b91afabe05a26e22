// The families' formats; each in a file of its own that says where the format comes from.
#ifndef FOLIO_API_REPLY_PARSER_CALL_FORMATS_H_
#define FOLIO_API_REPLY_PARSER_CALL_FORMATS_H_

#include <span>

#include "api/reply_parser/call_body.h"
#include "api/tool.h"

namespace folio {

CallFormat HermesFormat();
CallFormat QwenXmlFormat(std::span<const Tool> tools);
CallFormat Llama3Format(std::span<const Tool> tools);
CallFormat MistralFormat();
CallFormat GraniteFormat();
CallFormat DeepSeekFormat();
CallFormat GemmaFormat(std::span<const Tool> tools);

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_CALL_FORMATS_H_
