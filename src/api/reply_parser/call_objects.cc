#include "api/reply_parser/call_objects.h"

namespace folio {

CallStep CallObjects::Take(char c, PieceWriter& out) {
  switch (state_) {
    case State::kBefore:
      if (IsBlank(c)) return CallStep::kMore;
      if (c == '{') return BeginObject(c, out);
      if (c != '[' || list_) return CallStep::kBroken;
      list_ = true;
      return CallStep::kMore;
    case State::kBetween:
      return Between(c, out);
    case State::kObject:
      break;
  }
  const CallStep step = object_.Take(c, out);
  if (step != CallStep::kEnd && step != CallStep::kEndBefore) return step;
  state_ = State::kBetween;
  return step == CallStep::kEnd ? CallStep::kTold : Between(c, out);
}

CallStep CallObjects::BeginObject(char c, PieceWriter& out) {
  state_ = State::kObject;
  object_ = CallObject(rules_);
  return object_.Take(c, out);
}

CallStep CallObjects::Between(char c, PieceWriter& out) {
  if (IsBlank(c) || c == ',' || c == ';') return CallStep::kTold;
  if (c == '{') return BeginObject(c, out);
  return c == ']' && list_ ? CallStep::kEnd : CallStep::kEndBefore;
}

}  // namespace folio
