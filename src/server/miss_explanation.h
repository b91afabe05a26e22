// Why a prompt was not found in the cache as a whole, in words and in the vendors' own fields.
#ifndef FOLIO_SERVER_MISS_EXPLANATION_H_
#define FOLIO_SERVER_MISS_EXPLANATION_H_

#include <optional>
#include <string>
#include <string_view>

#include "formats/json.h"
#include "server/prompt_archive.h"
#include "server/served_model.h"

namespace folio {

// {id, model, prompt_tokens, cached_tokens, matched_tokens, reason, explanation, advice, here:
// {part, message, token, characters: [from, to], text, before}, there: {id, part, text}}: the exact
// spot, and what would have kept the prefix. `nearest`: the earlier prompt that it was compared
// with, if it is still known.
Json ExplanationJson(const PromptArchive::Found& found,
                     const std::optional<PromptArchive::Found>& nearest, const ServedModel& model);

// Where a prompt stops being the same as the one that it is compared with.
struct PromptComparison {
  bool same_model = true;
  std::int64_t shared_tokens = 0;  // from the start
  bool extends = false;            // all of the earlier prompt
  std::string part;                // of the first token that differs
};
PromptComparison ComparePrompts(const ArchivedPrompt& earlier, const ArchivedPrompt& prompt);

// Anthropic's diagnostics: {cache_miss_reason: null | {type, cache_missed_input_tokens}}. `earlier`
// is null if there is no such message.
Json AnthropicDiagnostics(const ArchivedPrompt* earlier, const ArchivedPrompt& prompt);
// OpenAI's prompt_cache_diagnostics: {type, reason, cache_missed_tokens, ...}.
Json OpenAiDiagnostics(const ArchivedPrompt* earlier, const ArchivedPrompt& prompt,
                       std::int64_t cached_tokens);

}  // namespace folio

#endif  // FOLIO_SERVER_MISS_EXPLANATION_H_
