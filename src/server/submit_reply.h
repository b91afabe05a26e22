// A rendered request goes to the engine, with the hints that the cache gets of it.
#ifndef FOLIO_SERVER_SUBMIT_REPLY_H_
#define FOLIO_SERVER_SUBMIT_REPLY_H_

#include <expected>
#include <vector>

#include "api/api_error.h"
#include "folio/engine.h"
#include "server/rendered_request.h"
#include "server/reply_job.h"

namespace folio {

// One stream a prompt, whose tokens and parts are taken out of `rendered`.
std::expected<std::vector<Stream>, ApiError> SubmitReply(ReplyJob& job, RenderedRequest& rendered,
                                                         SessionTable& sessions);

}  // namespace folio

#endif  // FOLIO_SERVER_SUBMIT_REPLY_H_
