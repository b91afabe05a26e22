// The JSON of Anthropic's replies: the message, its content blocks, its usage.
#ifndef FOLIO_API_ANTHROPIC_MESSAGE_H_
#define FOLIO_API_ANTHROPIC_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/reply_writer.h"
#include "formats/json.h"

namespace folio {

struct AnthropicBlock {
  enum class Kind : std::uint8_t { kText, kThinking, kToolUse };
  Kind kind = Kind::kText;
  std::string text;  // or the thinking, or the call's arguments
  std::string id;    // of a call: "toolu_..."
  std::string name;  // of its tool
};

// A block as it begins in a stream: empty.
Json AnthropicBlockStartJson(const AnthropicBlock& block);
// A block as it stands in the document. Arguments that the reply's end cut short are {}.
Json AnthropicBlockJson(const AnthropicBlock& block, bool omit_thinking);

// What a client gives back with the thinking that it belongs to: "sha256-" and 64 hex digits of
// the thinking's hash or, where the thinking isn't shown, the thinking itself
// (encrypted_content.h), so that it can come back all the same. Never empty, since clients drop
// thinking without one.
std::string ThinkingSignature(std::string_view thinking, bool omit_thinking);

// The prompt's tokens in three parts, as the API counts: read from the cache, newly kept up to a
// mark, and the rest. The parts add up to the prompt whatever `totals` says.
Json AnthropicUsageJson(const ReplyTotals& totals);

// The message without content and stop reason, as message_start has it.
Json AnthropicMessageJson(const ReplyStart& start, Json usage);

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_MESSAGE_H_
