// Messages of OpenAI's dialect, brought into the one form that a chat template sees:
//   * content is a string: parts are joined; null, "" and absent are the same;
//   * developer messages are system messages, which templates know;
//   * ids of the API, cache marks and unknown members are left out, so that they can't change the
//     prompt; what templates read stays: name, tool_calls, tool_call_id, reasoning_content.
#ifndef FOLIO_API_OPENAI_MESSAGES_H_
#define FOLIO_API_OPENAI_MESSAGES_H_

#include "api/fields.h"
#include "formats/json.h"

namespace folio {

// The list of `fields`' messages, or null after a refusal. `drop_media`: what is no text becomes a
// note instead of a refusal.
Json ReadMessages(Fields& fields, bool drop_media = false);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_MESSAGES_H_
