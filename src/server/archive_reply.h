// What the archive keeps of a request, and what is told from it.
#ifndef FOLIO_SERVER_ARCHIVE_REPLY_H_
#define FOLIO_SERVER_ARCHIVE_REPLY_H_

#include <cstdint>

#include "formats/json.h"
#include "server/prompt_archive.h"
#include "server/rendered_request.h"
#include "server/reply_job.h"

namespace folio {

ArchivedPrompt ArchivedOf(const ReplyJob& job, const RenderedRequest& rendered);

// The dialect's answer to why the cache missed.
Json DiagnosticsOf(const DiagnosticsQuestion& question, const ArchivedPrompt& prompt,
                   const MissReport& arrival, const PromptArchive& archive);

// Tells the archive, too, what became of the request.
ReplyObserver Reporting(ReplyObserver observer, PromptArchive& archive);

}  // namespace folio

#endif  // FOLIO_SERVER_ARCHIVE_REPLY_H_
