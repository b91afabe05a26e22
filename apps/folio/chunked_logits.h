// Logits of every position of a text, handed out in chunks so that memory stays bounded.
#ifndef FOLIO_APPS_FOLIO_CHUNKED_LOGITS_H_
#define FOLIO_APPS_FOLIO_CHUNKED_LOGITS_H_

#include <functional>
#include <span>

#include "base/error.h"
#include "engine/loaded_model.h"
#include "engine/session.h"

namespace folio {

// Appends `tokens` to `session` in chunks of the engine's max_batch_tokens, or fewer where those
// logits would take more than 256 MiB. `take` gets each chunk's first index and its logits,
// [rows, vocab].
using TakeLogits = std::function<Status(std::size_t first, std::span<const float> logits)>;
Status ForEachLogits(const LoadedModel& engine, Session& session, std::span<const TokenId> tokens,
                     const TakeLogits& take);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_CHUNKED_LOGITS_H_
