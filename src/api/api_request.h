// What a caller asked for, whatever the dialect: everything of an engine's Request but the tokens.
#ifndef FOLIO_API_API_REQUEST_H_
#define FOLIO_API_API_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "folio/engine.h"

namespace folio {

// Text, or token ids as they are.
using ApiPrompt = std::variant<std::string, std::vector<std::int32_t>>;

struct ApiRequest {
  std::string model;  // as asked for; may be empty
  // A conversation, in the form that Engine::RenderChat takes: a JSON array of messages whose
  // contents are strings, and an object of template variables, or empty.
  std::string messages;
  std::string variables;
  // Prompts to go on with, each on its own; empty for a conversation.
  std::vector<ApiPrompt> prompts;
  bool stream = false;
  std::optional<std::uint64_t> seed;  // nothing: the caller of the engine chooses one
  Request request;                    // prompt, parts, seed and retained_tokens are left open
};

}  // namespace folio

#endif  // FOLIO_API_API_REQUEST_H_
