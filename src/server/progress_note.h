// How far prompts are, for people who watch.
#ifndef FOLIO_SERVER_PROGRESS_NOTE_H_
#define FOLIO_SERVER_PROGRESS_NOTE_H_

#include <span>
#include <string>

#include "folio/engine.h"

namespace folio {

// "2048 of 8123 tokens of the prompt, about 12 s left, 9000 tokens before it", of a request's
// prompts together; empty for none.
std::string ProgressNote(std::span<const Progress> prompts);

}  // namespace folio

#endif  // FOLIO_SERVER_PROGRESS_NOTE_H_
