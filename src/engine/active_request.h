// A request that the loop works on.
#ifndef FOLIO_ENGINE_ACTIVE_REQUEST_H_
#define FOLIO_ENGINE_ACTIVE_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/choice.h"
#include "engine/engine_loop.h"
#include "folio/engine.h"
#include "sampling/drafter.h"

namespace folio {

struct EngineLoop::ActiveRequest {
  std::uint64_t id = 0;
  Request request;
  std::shared_ptr<RequestSink> sink;
  std::vector<GrammarMatcher> grammars;            // of choices, as they begin; or empty
  std::vector<std::unique_ptr<Choice>> choices;    // those that began; at first one, for the prompt
  std::vector<std::unique_ptr<Drafter>> drafters;  // of choices, made when one is first asked
  std::int64_t most_tokens = 0;
  std::int64_t found_tokens = 0;  // of the prompt, in the cache as it arrived, if that was asked
  bool told_scheduled = false;
  bool started = false;  // the prompt is computed and replies are drawn
  std::size_t ended = 0;
  std::int64_t submitted_ns = 0;
  std::int64_t scheduled_ns = -1;
  std::int64_t first_token_ns = -1;
  std::vector<RoutedExperts> routing;  // of choices, where asked for
  Outcome outcome;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_ACTIVE_REQUEST_H_
