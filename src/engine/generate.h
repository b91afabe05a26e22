// Text from a prompt: the loop of sampling, appending and decoding, with stop strings and timings.
#ifndef FOLIO_ENGINE_GENERATE_H_
#define FOLIO_ENGINE_GENERATE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/session.h"
#include "sampling/sampler.h"

namespace folio {

enum class FinishReason {
  kStop,       // an end token or a stop string
  kLength,     // max_tokens or the context's end
  kCancelled,  // the callback said so
};

std::string_view FinishReasonName(FinishReason reason);  // "stop", "length", "cancelled"

struct GenerateOptions {
  SamplingParams sampling;
  std::int64_t max_tokens = -1;    // -1 = until the context is full
  std::vector<std::string> stop;   // the reply ends before the first of these
  bool ignore_end_tokens = false;  // for benchmarks
};

struct Generation {
  std::string text;             // without the stop string
  std::vector<TokenId> tokens;  // generated ids, the end token included
  std::vector<Sample> samples;  // one a token, if sampling.logprobs is set
  FinishReason finish_reason = FinishReason::kStop;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // prompt tokens that the session already had
  double prefill_seconds = 0;
  double decode_seconds = 0;
};

// Receives text as it becomes final (whole characters, never part of a stop string); returns false
// to cancel.
using OnText = std::function<bool(std::string_view text)>;

// Replies to `prompt` on `session`, reusing what it already holds. A prompt longer than the context
// is a usage error.
Result<Generation> Generate(Session& session, std::span<const TokenId> prompt,
                            const GenerateOptions& options, const OnText& on_text);

}  // namespace folio

#endif  // FOLIO_ENGINE_GENERATE_H_
