// The grammar that keeps a reply to what its caller asked for: a format, calls that are forced, or
// calls that must fit their schemas.
#ifndef FOLIO_API_REPLY_GRAMMAR_H_
#define FOLIO_API_REPLY_GRAMMAR_H_

#include <cstdint>
#include <functional>
#include <string>

#include "api/api_request.h"
#include "api/call_spelling.h"
#include "base/error.h"
#include "folio/reply_grammar.h"

namespace folio {

// What stands around a reply's text, by the model.
struct ReplyFrame {
  CallSpelling calls;
  // Reasoning in front of everything, which nothing holds: between these marks, the first of which
  // the prompt may have written already. Empty: the model doesn't reason.
  std::string reasoning_begin;
  std::string reasoning_end;
  bool reasoning_begun = false;
  std::string text_begin;  // in front of what is no call: <|channel|>final<|message|>
  // The control token that is spelled so, or -1.
  std::function<std::int32_t(const std::string&)> control;
};

// Of a model whose replies are written so. `in_reasoning`: the prompt opened it.
ReplyFrame FrameOf(const ReplySyntax& syntax, bool in_reasoning,
                   std::function<std::int32_t(const std::string&)> control);

// kNone where any reply will do. With tools and a format the reply is one or the other. A choice
// that forces a call keeps its arguments to the tool's schema: exactly if the tool is strict, else
// as far as the schema can be kept to. Where calls are left to the model, strict tools' arguments
// are kept to their schemas and others' to any object; text in between is free (and nothing is held
// where text and calls begin alike).
// The request's schemas that it doesn't insist on. What such a schema says and can't be held to is
// left out where that is possible (an unknown keyword); where it isn't, the whole schema is (an
// expression that looks ahead, a reference to elsewhere).
bool HasLooseSchemas(const ApiRequest& request);
// Gives up those that `check` refuses by themselves, with a note for each.
void LoosenSchemas(ApiRequest& request,
                   const std::function<Status(const ReplyGrammar& grammar)>& check);

ReplyGrammar GrammarOf(const ApiRequest& request, const ReplyFrame& frame);

// What the engine says of such a grammar, with the field of the request that is to blame.
Error BlameRequest(const ApiRequest& request, Error error);

}  // namespace folio

#endif  // FOLIO_API_REPLY_GRAMMAR_H_
