// Calls as JSON objects: one; several, with commas, semicolons or white space in between; or a
// list of them.
#ifndef FOLIO_API_REPLY_PARSER_CALL_OBJECTS_H_
#define FOLIO_API_REPLY_PARSER_CALL_OBJECTS_H_

#include <cstdint>

#include "api/reply_parser/call_body.h"
#include "api/reply_parser/call_object.h"

namespace folio {

class CallObjects : public CallBody {
 public:
  explicit CallObjects(const CallRules& rules) : rules_(rules), object_(rules) {}
  CallStep Take(char c, PieceWriter& out) override;

 private:
  enum class State : std::uint8_t { kBefore, kObject, kBetween };

  CallStep BeginObject(char c, PieceWriter& out);
  CallStep Between(char c, PieceWriter& out);

  CallRules rules_;
  CallObject object_;
  State state_ = State::kBefore;
  bool list_ = false;
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_CALL_OBJECTS_H_
