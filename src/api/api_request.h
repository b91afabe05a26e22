// What a caller asked for, whatever the dialect: everything of an engine's Request but the tokens.
#ifndef FOLIO_API_API_REQUEST_H_
#define FOLIO_API_API_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/tool.h"
#include "folio/engine.h"
#include "formats/json.h"

namespace folio {

// Text, or token ids as they are.
using ApiPrompt = std::variant<std::string, std::vector<std::int32_t>>;

// What a reply's text must be. Of the dialects' response_format, text.format, output_config.format.
struct ReplyFormat {
  enum class Kind : std::uint8_t { kText, kJsonObject, kJsonSchema };
  Kind kind = Kind::kText;
  std::string name;  // the caller's, of a schema
  Json schema;       // of kJsonSchema
  // What the schema says and can't be held to is an error; else it is left out.
  bool strict = false;
};

// A caller's wish that the prefix up to here be kept: a hint within the budget.
struct CacheMark {
  // Up to the end of ApiRequest::messages[message]; -1: of the tools.
  std::int64_t message = -1;
  CacheRetention retention = CacheRetention::k5Minutes;
  bool operator==(const CacheMark&) const = default;
};

struct ApiRequest {
  std::string model;  // as asked for; may be empty
  // A conversation in the one form that chat templates see: a list of {role, content, ...} whose
  // contents are strings (api/openai_messages.h says what else); null where there are prompts.
  Json messages;
  // Further template variables, by name; without the tools. May be null.
  Json variables;
  std::vector<Tool> tools;  // that the model sees, in the caller's order
  ToolChoice tool_choice;
  // The model sees the tools although the choice is none of them, so that the prompt begins like
  // its conversation's others.
  bool shows_uncalled_tools = false;
  bool parallel_tool_calls = true;
  ReplyFormat format;
  std::vector<CacheMark> marks;  // at most four count, the last ones
  // Names the conversation that this request is one turn of, so that it outlives others' short
  // requests; a hint, not an identity. Empty: none.
  std::string session;
  // Prompts to go on with, each on its own; empty for a conversation.
  std::vector<ApiPrompt> prompts;
  bool tells_nothing = false;  // the prompt is computed and kept, and no reply is made
  bool stream = false;
  bool stream_usage = false;          // OpenAI's stream_options.include_usage
  std::optional<std::uint64_t> seed;  // nothing: the caller of the engine chooses one
  Request request;                    // prompt, parts, seed and retained_tokens are left open
  // On what of it was left out or changed, for the log and for explanations: "tools[8]: ...".
  std::vector<std::string> notes;
};

// Keeps the first notes only, so that no body can fill a log.
void AddNote(std::vector<std::string>& notes, std::string note);

// What the chat template gets beside the messages: the variables, and the tools unless the choice
// is none of them. An object.
Json TemplateVariables(const ApiRequest& request);

}  // namespace folio

#endif  // FOLIO_API_API_REQUEST_H_
