// One request through a loop that has nothing else to do: for commands that look inside.
#ifndef FOLIO_ENGINE_RUN_REQUEST_H_
#define FOLIO_ENGINE_RUN_REQUEST_H_

#include <cstdint>

#include "base/error.h"
#include "engine/engine_loop.h"

namespace folio {

// Steps the loop until the request has ended. An error if it was refused or its first choice
// failed. `id` as in EngineLoop::Submit.
Result<Outcome> RunRequest(EngineLoop& loop, std::uint64_t id, Request request);

}  // namespace folio

#endif  // FOLIO_ENGINE_RUN_REQUEST_H_
