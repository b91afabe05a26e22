// Text with blocks of calls in it, as a family's CallFormat marks them.
#ifndef FOLIO_API_REPLY_PARSER_CALL_TEXT_H_
#define FOLIO_API_REPLY_PARSER_CALL_TEXT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/reply_parser/call_body.h"
#include "api/reply_parser/mark_matcher.h"
#include "api/reply_parser/reply_stage.h"

namespace folio {

class CallText : public ReplyStage {
 public:
  // `opens_in_text`: an opening mark counts also where it is no control token.
  CallText(CallFormat format, bool opens_in_text);

  void Byte(char c, PieceWriter& out) override;
  void Control(std::string_view mark, PieceWriter& out) override;
  bool Knows(std::string_view mark) const override;
  void End(PieceWriter& out) override;

 private:
  enum class State : std::uint8_t {
    kText,
    kCall,
    kBrokenCall,  // what is left of one that was begun to be told
  };

  void InText(char c, PieceWriter& out);
  void InCall(char c, PieceWriter& out);
  void InBrokenCall(char c);
  void Plain(char c, PieceWriter& out);
  void Plain(std::string_view text, PieceWriter& out);
  void Open(std::string_view mark);
  void Leave();
  void Break(char c, PieceWriter& out);
  void TellHeld(PieceWriter& out);
  bool Opens(std::string_view mark) const;

  CallFormat format_;
  MarkMatcher matcher_;
  State state_ = State::kText;
  bool nothing_yet_ = true;  // but white space
  bool after_call_ = false;  // ... and white space
  std::string blanks_;       // not told yet
  std::unique_ptr<CallBody> body_;
  std::string held_;      // what a call was written with that isn't told yet
  bool telling_ = false;  // held_ is told as pieces of a call
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_CALL_TEXT_H_
