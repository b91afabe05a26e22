#include "server/progress_note.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace folio {

std::string ProgressNote(std::span<const Progress> prompts) {
  Progress all;
  for (const Progress& progress : prompts) {
    all.prompt_tokens += progress.prompt_tokens;
    all.computed_tokens += progress.computed_tokens;
    all.tokens_before = std::max(all.tokens_before, progress.tokens_before);
    all.seconds_left = std::max(all.seconds_left, progress.seconds_left);
  }
  if (all.prompt_tokens == 0) return {};
  std::string note = std::to_string(all.computed_tokens) + " of " +
                     std::to_string(all.prompt_tokens) + " tokens of the prompt";
  if (all.seconds_left >= 0) {
    note += ", about " + std::to_string(std::llround(std::ceil(all.seconds_left))) + " s left";
  }
  if (all.tokens_before > 0) note += ", " + std::to_string(all.tokens_before) + " tokens before it";
  return note;
}

}  // namespace folio
