// The format of gpt-oss, as OpenAI's "harmony response format" describes it: a reply is messages,
// each of a header and a content, and control tokens in between:
//
//   <|channel|>analysis<|message|>... <|end|><|start|>assistant<|channel|>commentary
//   to=functions.NAME <|constrain|>json<|message|>{...} <|call|>
//
// analysis is reasoning, final and commentary are text; what is addressed to somebody is a call,
// wherever in the header it says so. The prompt ends with <|start|>assistant.
#ifndef FOLIO_API_REPLY_PARSER_HARMONY_H_
#define FOLIO_API_REPLY_PARSER_HARMONY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/reply_parser/argument_stream.h"
#include "api/reply_parser/mark_matcher.h"
#include "api/reply_parser/reply_stage.h"

namespace folio {

class Harmony : public ReplyStage {
 public:
  // `marks_in_text`: marks count also where they are no control tokens.
  explicit Harmony(bool marks_in_text);

  void Byte(char c, PieceWriter& out) override;
  void Control(std::string_view mark, PieceWriter& out) override;
  bool Knows(std::string_view mark) const override;
  void End(PieceWriter& out) override;

 private:
  enum class State : std::uint8_t {
    kReply,  // of a header, what follows "<|start|>assistant": who it is for
    kHeader,
    kContent,
    kRecipient,  // content for somebody, of which only white space is known
    kArguments,
    kLeftOut,  // behind arguments
  };

  void Mark(std::string_view mark, PieceWriter& out);
  void Plain(char c, PieceWriter& out);
  void Header(char c, PieceWriter& out);
  void Tell(std::string_view text, PieceWriter& out);
  void BeginCall(PieceWriter& out);
  void Arguments(char c, PieceWriter& out);
  void BeginContent();
  void EndMessage(PieceWriter& out);

  bool marks_in_text_;
  MarkMatcher matcher_;
  State state_ = State::kReply;
  std::string header_;      // up to the channel, then the channel and what is behind it
  std::string recipient_;   // without its "functions."
  bool reasoning_ = false;  // what the message's content is
  std::string blanks_;      // at the start of content for somebody
  ArgumentStream stream_;
  enum class Told : std::uint8_t { kNothing, kText, kReasoning };
  Told last_ = Told::kNothing;  // by the message before, if of the kind that may follow itself
  bool message_begins_ = true;
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_HARMONY_H_
