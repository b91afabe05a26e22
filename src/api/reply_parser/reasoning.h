// Reasoning at a reply's start, between two marks; what comes after goes to the next stage.
#ifndef FOLIO_API_REPLY_PARSER_REASONING_H_
#define FOLIO_API_REPLY_PARSER_REASONING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/reply_parser/mark_matcher.h"
#include "api/reply_parser/reply_stage.h"

namespace folio {

class Reasoning : public ReplyStage {
 public:
  Reasoning(std::string_view open, std::string_view close, bool inside,
            std::unique_ptr<ReplyStage> next);

  void Byte(char c, PieceWriter& out) override;
  void Control(std::string_view mark, PieceWriter& out) override;
  bool Knows(std::string_view mark) const override;
  void End(PieceWriter& out) override;

 private:
  enum class State : std::uint8_t {
    kStart,  // only white space so far
    kInside,
    kBehind,  // only white space since
    kNext,    // the next stage's
  };

  void AtStart(char c, PieceWriter& out);
  void Inside(char c, PieceWriter& out);
  void Tell(char c, PieceWriter& out);
  void Pass(std::string_view text, PieceWriter& out);
  void PassHeld(PieceWriter& out);

  std::string_view open_;
  std::string_view close_;
  std::unique_ptr<ReplyStage> next_;
  State state_;
  MarkMatcher opening_;
  MarkMatcher closing_;
  std::string blanks_;          // not told yet
  bool nothing_inside_ = true;  // but white space
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_REASONING_H_
