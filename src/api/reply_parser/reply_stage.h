// A part of a reply's parser: they are put behind one another, reasoning in front of calls.
#ifndef FOLIO_API_REPLY_PARSER_REPLY_STAGE_H_
#define FOLIO_API_REPLY_PARSER_REPLY_STAGE_H_

#include <string_view>

#include "api/reply_parser/piece_writer.h"

namespace folio {

class ReplyStage {
 public:
  virtual ~ReplyStage() = default;
  virtual void Byte(char c, PieceWriter& out) = 0;
  // Only of those that it knows.
  virtual void Control(std::string_view mark, PieceWriter& out) = 0;
  virtual bool Knows(std::string_view mark) const = 0;
  virtual void End(PieceWriter& out) = 0;
};

// White space is held up to this in front of what may be a mark.
inline constexpr std::size_t kLongestBlank = 16;

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_REPLY_STAGE_H_
