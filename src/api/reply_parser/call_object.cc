#include "api/reply_parser/call_object.h"

#include <algorithm>
#include <array>
#include <utility>

#include "formats/json.h"

namespace folio {
namespace {

// What a JSON string says; nothing if it is none.
std::optional<std::string> StringValue(std::string_view json) {
  const auto value = ParseJson(json);
  if (!value || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

bool IsCallMember(std::string_view key) {
  constexpr std::array<std::string_view, 5> kMembers = {"name", "arguments", "parameters", "type",
                                                        "id"};
  return std::ranges::find(kMembers, key) != kMembers.end();
}

}  // namespace

CallStep CallObject::Go(State state) {
  state_ = state;
  return CallStep::kMore;
}

CallStep CallObject::Take(char c, PieceWriter& out) {
  if (state_ == State::kInKey) return InKey(c);
  if (state_ == State::kInValue) return InValue(c, out);
  if (IsBlank(c)) return CallStep::kMore;
  switch (state_) {
    case State::kOpen:
      return c == '{' ? Go(State::kFirstKey) : CallStep::kBroken;
    case State::kFirstKey:
    case State::kKey:
      if (c != '"') return CallStep::kBroken;  // {} is no call either
      value_.clear();
      scanner_ = JsonScanner();
      state_ = State::kInKey;
      return InKey(c);
    case State::kColon:
      return c == ':' ? Go(State::kValue) : CallStep::kBroken;
    case State::kValue:
      return BeginValue(c, out);
    default:
      return Next(c, out);
  }
}

CallStep CallObject::InKey(char c) {
  const JsonScanner::Step step = scanner_.Take(c);
  if (step == JsonScanner::Step::kInvalid) return CallStep::kBroken;
  if (value_.size() < kLongestHeader) value_ += c;
  if (step == JsonScanner::Step::kMore) return CallStep::kMore;
  const std::string key = StringValue(value_).value_or("");
  if (rules_.only && !IsCallMember(key)) return CallStep::kBroken;
  if (key == "name" && !named_) {
    member_ = Member::kName;
  } else if ((key == "arguments" || key == "parameters") && !has_arguments_) {
    member_ = Member::kArguments;
  } else {
    member_ = Member::kOther;
  }
  return Go(State::kColon);
}

CallStep CallObject::BeginValue(char c, PieceWriter& out) {
  value_.clear();
  scanner_ = JsonScanner(/*raw_controls=*/true);
  state_ = State::kInValue;
  if (member_ == Member::kName && c != '"') return CallStep::kBroken;
  if (member_ == Member::kArguments && c != '{') {
    if (c != '"' && c != 'n') return CallStep::kBroken;
    member_ = Member::kArgumentsAsText;
  }
  return InValue(c, out);
}

CallStep CallObject::InValue(char c, PieceWriter& out) {
  switch (TakeValue(c, out)) {
    case JsonScanner::Step::kMore:
      return value_.size() < kLongestHeld ? CallStep::kMore : CallStep::kBroken;
    case JsonScanner::Step::kEnd:
      state_ = State::kNext;
      return EndMember(out);
    case JsonScanner::Step::kEndBefore:  // only members that are let pass are numbers
      state_ = State::kNext;
      return Take(c, out);
    default:
      return CallStep::kBroken;
  }
}

JsonScanner::Step CallObject::TakeValue(char c, PieceWriter& out) {
  if (member_ == Member::kArguments) {
    std::string told;
    const JsonScanner::Step step = stream_.Take(c, told);
    TellArguments(told, out);
    return step;
  }
  const JsonScanner::Step step = scanner_.Take(c);
  if (member_ != Member::kOther) value_ += c;
  return step;
}

void CallObject::TellArguments(std::string_view text, PieceWriter& out) {
  if (named_) {
    out.Arguments(text);
  } else {
    arguments_ += text;
  }
}

CallStep CallObject::EndMember(PieceWriter& out) {
  if (member_ == Member::kOther) return CallStep::kMore;
  return member_ == Member::kName ? EndName(out) : EndArguments(out);
}

CallStep CallObject::EndName(PieceWriter& out) {
  std::string name = StringValue(value_).value_or("");
  if (name.empty() || name.size() > kLongestHeader) return CallStep::kBroken;
  if (rules_.only && FindTool(*rules_.only, name) == nullptr) return CallStep::kBroken;
  named_ = true;
  out.StartCall(std::move(name));
  out.Arguments(arguments_);
  arguments_.clear();
  if (has_arguments_) out.EndCall();
  return CallStep::kMore;
}

CallStep CallObject::EndArguments(PieceWriter& out) {
  if (member_ == Member::kArgumentsAsText && value_ != "null") {
    const std::string text = StringValue(value_).value_or("");
    const auto object = ParseJson(text);
    if (!object || !object->is_object()) return CallStep::kBroken;
    TellArguments(text, out);
  }
  has_arguments_ = true;
  if (named_) out.EndCall();
  return CallStep::kMore;
}

CallStep CallObject::Next(char c, PieceWriter& out) {
  if (c == ',') return Go(State::kKey);
  if (c != '}') return named_ && has_arguments_ ? CallStep::kEndBefore : CallStep::kBroken;
  if (!named_) return CallStep::kBroken;
  if (!has_arguments_) out.EndCall();
  return CallStep::kEnd;
}

}  // namespace folio
