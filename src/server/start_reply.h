// From an API request to a reply in the making: rendered, submitted, its head known.
#ifndef FOLIO_SERVER_START_REPLY_H_
#define FOLIO_SERVER_START_REPLY_H_

#include <cstddef>
#include <expected>
#include <memory>
#include <string>

#include "api/api_error.h"
#include "http/http_message.h"
#include "server/rendered_request.h"
#include "server/reply_job.h"

namespace folio {

// Everything that can be refused is refused here, before a head is sent. On a worker's thread:
// takes as long as rendering and one step of the engine.
std::expected<std::unique_ptr<HttpStream>, ApiError> StartReply(ReplyJob job,
                                                                ConversationMemory& memory);

// Replaces replies of earlier turns by the tokens that they were generated as. What is given must
// outlive it.
PromptEdit EditOf(const ServedModel& model, const std::string& salt, const ApiRequest& request,
                  ConversationMemory& memory);

// "cached=8080, prompt=8123, reason=differs, at="messages[3] user"+12": what the cache had of the
// prompt, as a header field tells it. `spliced`: replies whose own tokens stand in the prompt.
std::string CacheField(const MissReport& report, std::size_t spliced = 0);

}  // namespace folio

#endif  // FOLIO_SERVER_START_REPLY_H_
