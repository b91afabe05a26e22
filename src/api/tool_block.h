// Tools for models whose chat template knows none: described in the system message, in the words of
// the Hermes function calling format (NousResearch/Hermes-Function-Calling), which models without
// training for tools follow about as well as any other.
#ifndef FOLIO_API_TOOL_BLOCK_H_
#define FOLIO_API_TOOL_BLOCK_H_

#include "formats/json.h"

namespace folio {

// Moves variables["tools"] into the text of the first system message, which is made if there is
// none; earlier calls become text as the block asks for them, and results a user's message. Does
// nothing without tools, calls or results.
void AddToolBlock(Json& messages, Json& variables);

}  // namespace folio

#endif  // FOLIO_API_TOOL_BLOCK_H_
