// What a stretch of a prompt belongs to: so that a miss can be explained.
#ifndef FOLIO_PROMPT_PART_H_
#define FOLIO_PROMPT_PART_H_

#include <cstdint>
#include <string>

namespace folio {

// Parts are in the order of their tokens, each up to the next one's start.
struct PromptPart {
  std::string label;  // "system", "tools[2] get_weather", "messages[3] user", "reply start"
  std::int64_t first_token = 0;
  bool operator==(const PromptPart&) const = default;
};

}  // namespace folio

#endif  // FOLIO_PROMPT_PART_H_
