#include "api/reply_parser/json_scanner.h"

#include <algorithm>

namespace folio {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Past this no double is near; counting on would only overflow.
constexpr int kManyDigits = 100'000;
constexpr int kDoubleDigits = 308;

}  // namespace

JsonScanner::Step JsonScanner::Go(State state) {
  state_ = state;
  return Step::kMore;
}

JsonScanner::Step JsonScanner::Take(char c) {
  switch (state_) {
    case State::kString:
      return String(c);
    case State::kEscape:
      if (c == 'u') {
        hex_digits_ = 0;
        code_unit_ = 0;
        return Go(State::kHex);
      }
      return std::string_view("\"\\/bfnrt").contains(c) ? Go(State::kString) : Step::kInvalid;
    case State::kHex:
      return Hex(c);
    case State::kSecondEscape:
      return c == '\\' ? Go(State::kSecondU) : Step::kInvalid;
    case State::kSecondU:
      hex_digits_ = 0;
      code_unit_ = 0;
      return c == 'u' ? Go(State::kHex) : Step::kInvalid;
    case State::kLiteral:
      return Literal(c);
    case State::kMinus:
    case State::kZero:
    case State::kDigits:
    case State::kPoint:
    case State::kFraction:
    case State::kExponent:
    case State::kExponentSign:
    case State::kExponentDigits:
      return Number(c);
    default:
      break;
  }
  if (IsSpace(c)) return Step::kMore;
  switch (state_) {
    case State::kFirstElement:
      return c == ']' ? Close(/*object=*/false) : Value(c);
    case State::kFirstKey:
      if (c == '}') return Close(/*object=*/true);
      [[fallthrough]];
    case State::kKey:
      key_ = true;
      return c == '"' ? Go(State::kString) : Step::kInvalid;
    case State::kColon:
      return c == ':' ? Go(State::kValue) : Step::kInvalid;
    case State::kNext:
      return Next(c);
    default:
      return Value(c);
  }
}

JsonScanner::Step JsonScanner::Value(char c) {
  switch (c) {
    case '{':
      return Open(/*object=*/true);
    case '[':
      return Open(/*object=*/false);
    case '"':
      key_ = false;
      return Go(State::kString);
    case 't':
      literal_ = "rue";
      return Go(State::kLiteral);
    case 'f':
      literal_ = "alse";
      return Go(State::kLiteral);
    case 'n':
      literal_ = "ull";
      return Go(State::kLiteral);
    default:
      break;
  }
  integer_digits_ = 1;
  exponent_ = 0;
  negative_exponent_ = false;
  if (c == '-') return Go(State::kMinus);
  if (c == '0') return Go(State::kZero);
  return IsDigit(c) ? Go(State::kDigits) : Step::kInvalid;
}

JsonScanner::Step JsonScanner::Open(bool object) {
  if (depth_ == kMaxDepth) return Step::kInvalid;
  const std::uint64_t bit = std::uint64_t{1} << depth_++;
  objects_ = object ? objects_ | bit : objects_ & ~bit;
  return Go(object ? State::kFirstKey : State::kFirstElement);
}

JsonScanner::Step JsonScanner::Close(bool object) {
  if (((objects_ >> (depth_ - 1)) & 1U) != (object ? 1U : 0U)) return Step::kInvalid;
  --depth_;
  return EndValue();
}

JsonScanner::Step JsonScanner::EndValue() {
  state_ = State::kNext;
  return depth_ == 0 ? Step::kEnd : Step::kMore;
}

JsonScanner::Step JsonScanner::Next(char c) {
  if (c == '}' || c == ']') return Close(c == '}');
  if (c != ',') return Step::kInvalid;
  return Go(((objects_ >> (depth_ - 1)) & 1U) != 0 ? State::kKey : State::kValue);
}

JsonScanner::Step JsonScanner::String(char c) {
  if (c == '\\') return Go(State::kEscape);
  if (c == '"') {
    if (!key_) return EndValue();
    return Go(State::kColon);
  }
  const bool control = static_cast<unsigned char>(c) < 0x20;
  return control && !raw_controls_ ? Step::kInvalid : Step::kMore;
}

JsonScanner::Step JsonScanner::Hex(char c) {
  const int value = HexValue(c);
  if (value < 0) return Step::kInvalid;
  code_unit_ = code_unit_ * 16 + static_cast<std::uint32_t>(value);
  if (++hex_digits_ < 4) return Step::kMore;
  const bool high = code_unit_ >= 0xD800 && code_unit_ < 0xDC00;
  const bool low = code_unit_ >= 0xDC00 && code_unit_ < 0xE000;
  if (low != after_high_surrogate_) return Step::kInvalid;
  after_high_surrogate_ = high;
  return Go(high ? State::kSecondEscape : State::kString);
}

JsonScanner::Step JsonScanner::Literal(char c) {
  if (c != literal_.front()) return Step::kInvalid;
  literal_.remove_prefix(1);
  return literal_.empty() ? EndValue() : Step::kMore;
}

JsonScanner::Step JsonScanner::Number(char c) {
  const bool digit = IsDigit(c);
  switch (state_) {
    case State::kMinus:
      if (c == '0') return Go(State::kZero);
      return digit ? Go(State::kDigits) : Step::kInvalid;
    case State::kDigits:
      if (digit) {
        integer_digits_ = std::min(integer_digits_ + 1, kManyDigits);
        return Step::kMore;
      }
      [[fallthrough]];
    case State::kZero:
      if (c == '.') return Go(State::kPoint);
      break;
    case State::kPoint:
      return digit ? Go(State::kFraction) : Step::kInvalid;
    case State::kFraction:
      if (digit) return Step::kMore;
      break;
    case State::kExponent:
      if (c == '+' || c == '-') {
        negative_exponent_ = c == '-';
        return Go(State::kExponentSign);
      }
      [[fallthrough]];
    case State::kExponentSign:
    case State::kExponentDigits:
      if (digit) {
        exponent_ = std::min(exponent_ * 10 + (c - '0'), kManyDigits);
        return Go(State::kExponentDigits);
      }
      return state_ == State::kExponentDigits ? EndNumber(c) : Step::kInvalid;
    default:
      break;
  }
  return c == 'e' || c == 'E' ? Go(State::kExponent) : EndNumber(c);
}

// `c` stands behind the number.
JsonScanner::Step JsonScanner::EndNumber(char c) {
  const int exponent = negative_exponent_ ? -exponent_ : exponent_;
  if (integer_digits_ + exponent > kDoubleDigits) return Step::kInvalid;
  if (EndValue() == Step::kEnd) return Step::kEndBefore;
  return Take(c);
}

}  // namespace folio
