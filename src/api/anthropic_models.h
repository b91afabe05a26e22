// GET /v1/models and /v1/models/{id} as Anthropic's clients read them.
#ifndef FOLIO_API_ANTHROPIC_MODELS_H_
#define FOLIO_API_ANTHROPIC_MODELS_H_

#include <cstdint>
#include <span>
#include <string>

#include "formats/json.h"

namespace folio {

struct AnthropicModel {
  std::string id;
  std::string display_name;
  std::int64_t created = 0;     // seconds since 1970
  std::int64_t max_input = 0;   // tokens of a prompt
  std::int64_t max_output = 0;  // tokens of a reply
};

Json AnthropicModelJson(const AnthropicModel& model);
// All of them, on one page.
Json AnthropicModelsJson(std::span<const AnthropicModel> models);

// "2026-11-29T12:00:00Z"; years 1970 to 9999, others the nearest.
std::string Rfc3339(std::int64_t seconds);

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_MODELS_H_
