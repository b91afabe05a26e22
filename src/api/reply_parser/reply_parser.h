// Finds reasoning and calls of tools in a model's reply while it is made. Each family of models
// writes them in its own way; how is told by its chat template. What is neither is text, also what
// begins like a call and turns out to be none: odd text is never an error.
//
// Rules that hold for every family:
//   * Pieces come as early as possible: text is held back while it may be the start of a mark (and
//     up to 16 characters of white space, which aren't text in front of a call).
//   * The joined pieces don't depend on how the reply is cut into Text calls.
//   * kCallStart comes when the name is known; the arguments follow as the model writes them. Only
//     control characters inside their strings, which JSON forbids and models write in code, become
//     escapes; a family whose arguments aren't JSON has them converted.
//   * The arguments of a call that ended (kCallEnd) are one JSON object; {} where there were none.
//   * A call that breaks before its kCallStart is text, as it was written. One that breaks later
//     has no kCallEnd; what is left of it, up to its closing mark, is left out.
//   * White space around calls and reasoning isn't told.
//   * Each byte costs constant time; at most 1 MiB is held.
#ifndef FOLIO_API_REPLY_PARSER_REPLY_PARSER_H_
#define FOLIO_API_REPLY_PARSER_REPLY_PARSER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "api/reply_piece.h"
#include "api/tool.h"

namespace folio {

// How calls are written.
enum class CallSyntax : std::uint8_t {
  kHermes,   // <tool_call>{"name": ..., "arguments": {...}}</tool_call>: Hermes, Qwen, SmolLM3, ...
  kQwenXml,  // <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>
  kLlama3,   // the reply is {"name": ..., "parameters": {...}}, of a tool that is offered
  kMistral,  // [TOOL_CALLS][{"name": ..., "arguments": {...}}] or [TOOL_CALLS]NAME[ARGS]{...}
  kGranite,  // <|tool_call|>[{"name": ..., "arguments": {...}}]: Granite 3, Phi 4 mini
  kDeepSeek,  // <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}<｜tool▁call▁end｜>, R1's too
  kHarmony,   // <|channel|>commentary to=functions.NAME<|message|>{...}: gpt-oss
  kGemma,     // {"name": ..., "parameters": {...}} of a tool that is offered, bare or in a fence
};

// How reasoning is marked. It stands at the reply's start; later marks are text.
enum class ReasoningSyntax : std::uint8_t {
  kNone,          // not at all, or by the calls' syntax (kHarmony)
  kThink,         // <think>...</think>
  kBracketThink,  // [THINK]...[/THINK]
};

struct ReplySyntax {
  CallSyntax calls = CallSyntax::kHermes;
  ReasoningSyntax reasoning = ReasoningSyntax::kNone;
  bool operator==(const ReplySyntax&) const = default;
};

// Of the model with this chat template and general.architecture. Where a template knows no tools:
// kHermes, in which a caller may then describe them.
ReplySyntax ReplySyntaxOf(std::string_view template_source, std::string_view architecture);

// "hermes", "qwen-xml", ...: for logs.
std::string_view CallSyntaxName(CallSyntax syntax);

// The mark of which a vocabulary tells whether it has the syntax's marks as control tokens; empty
// where it makes no difference.
std::string_view CallMark(CallSyntax syntax);

// Whether a prompt that ends so has the reply begin inside of reasoning.
bool PromptOpensReasoning(ReasoningSyntax syntax, std::string_view prompt_end);

struct ReplyParserOptions {
  bool in_reasoning = false;  // the prompt opened it
  // The vocabulary has CallMark as a control token: the same characters as text are text. Tags of
  // Hermes and Qwen count either way, as their models write them either way.
  bool marks_are_controls = false;
};

// Of one reply, from its first token to its last.
class ReplyParser {
 public:
  virtual ~ReplyParser() = default;
  // More of the reply's text, in whole UTF-8 characters. Pieces are appended.
  virtual void Text(std::string_view text, std::vector<ReplyPiece>& pieces) = 0;
  // A control token at its place, as the vocabulary spells it; those that mean nothing to the
  // syntax are left out. The token that ends the turn may be given or not.
  virtual void Control(std::string_view spelling, std::vector<ReplyPiece>& pieces) = 0;
  // The reply is over; nothing may follow.
  virtual void End(std::vector<ReplyPiece>& pieces) = 0;
};

// `tools`: those offered, outliving the parser. Without any, calls are text, but for kHarmony's,
// which nothing else can be.
std::unique_ptr<ReplyParser> MakeReplyParser(const ReplySyntax& syntax, std::span<const Tool> tools,
                                             const ReplyParserOptions& options = {});

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_REPLY_PARSER_H_
