// Follows one JSON value byte by byte (RFC 8259): where it ends, and whether it may still become
// valid. Builds nothing. What it finds whole, ParseJson reads: the same depth, paired surrogates,
// numbers that a double holds.
#ifndef FOLIO_API_REPLY_PARSER_JSON_SCANNER_H_
#define FOLIO_API_REPLY_PARSER_JSON_SCANNER_H_

#include <cstdint>
#include <string_view>

namespace folio {

class JsonScanner {
 public:
  enum class Step : std::uint8_t {
    kMore,       // the byte belongs to the value, which goes on
    kEnd,        // ... which is whole now
    kEndBefore,  // the value was whole without it: a number that stands alone
    kInvalid,    // no value begins so
  };

  // `raw_controls`: control characters inside strings are let pass, for the caller to escape.
  explicit JsonScanner(bool raw_controls = false) : raw_controls_(raw_controls) {}

  // The next byte, after kMore. White space in front of the value belongs to it.
  Step Take(char c);
  // Whether the next byte is a character of a string.
  bool in_string() const { return state_ == State::kString; }

 private:
  static constexpr int kMaxDepth = 64;  // JsonLimits::depth; a bit each in objects_
  enum class State : std::uint8_t {
    kValue,         // a value comes
    kFirstElement,  // a list's first one, or its end
    kFirstKey,      // an object's first key, or its end
    kKey,
    kColon,
    kNext,  // a comma or the end of what is open
    kString,
    kEscape,
    kHex,
    kSecondEscape,  // the second half of a surrogate pair: its \ and its u
    kSecondU,
    kLiteral,
    kMinus,
    kZero,
    kDigits,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
  };

  Step Value(char c);
  Step Open(bool object);
  Step Close(bool object);
  Step EndValue();
  Step Next(char c);
  Step String(char c);
  Step Hex(char c);
  Step Literal(char c);
  Step Number(char c);
  Step EndNumber(char c);
  Step Go(State state);

  State state_ = State::kValue;
  bool raw_controls_;
  bool key_ = false;  // the string is one
  int depth_ = 0;
  std::uint64_t objects_ = 0;  // bit i: what opened at depth i is an object, not a list
  std::string_view literal_;   // what is left of true, false or null
  int hex_digits_ = 0;
  std::uint32_t code_unit_ = 0;
  bool after_high_surrogate_ = false;
  // The number is below 10^(integer_digits_ + exponent_).
  int integer_digits_ = 0;
  int exponent_ = 0;
  bool negative_exponent_ = false;
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_JSON_SCANNER_H_
