#include "formats/json.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace folio {
namespace {

constexpr std::size_t kLongestDetail = 200;  // bytes; the library quotes a number of any length

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." without what
// stands before the last part.
std::string Detail(std::string_view what) {
  if (const auto name = what.find("] "); name != what.npos) what.remove_prefix(name + 2);
  if (what.starts_with("parse error at ")) {
    if (const auto place = what.find(": "); place != what.npos) what.remove_prefix(place + 2);
  }
  if (what.size() <= kLongestDetail) return std::string(what);
  std::size_t end = kLongestDetail;
  while ((static_cast<unsigned char>(what[end]) & 0xC0) == 0x80) --end;  // inside a character
  return std::string(what.substr(0, end)) + "...";
}

// Walks a document without building it. Every event returns false to end the walk.
class LimitCheck {
 public:
  explicit LimitCheck(const JsonLimits& limits) : limits_(limits) {}

  const std::string& why() const { return why_; }

  bool null() { return Value(); }
  bool boolean(bool) { return Value(); }
  bool number_integer(std::int64_t) { return Value(); }
  bool number_unsigned(std::uint64_t) { return Value(); }
  bool number_float(double, const std::string&) { return Value(); }
  bool string(std::string&) { return Value(); }
  bool binary(Json::binary_t&) { return Value(); }
  bool start_object(std::size_t) { return Open(); }
  bool start_array(std::size_t) { return Open(); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string&) {
    member_pairs_ += members_.back()++;
    return member_pairs_ <= limits_.member_pairs ||
           Refuse("has more", limits_.member_pairs, "pairs of members in its objects");
  }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& error) {
    why_ = "byte " + std::to_string(position) + " is no JSON: " + Detail(error.what());
    return false;
  }

 private:
  bool Refuse(const char* what, std::size_t most, const char* unit) {
    why_ = std::string(what) + " than " + std::to_string(most) + " " + unit;
    return false;
  }
  bool Value() {
    return ++values_ <= limits_.values || Refuse("has more", limits_.values, "values");
  }
  bool Open() {
    if (members_.size() == limits_.depth) return Refuse("nests deeper", limits_.depth, "levels");
    members_.push_back(0);
    if (++containers_ > limits_.containers) {
      return Refuse("has more", limits_.containers, "objects and lists");
    }
    return Value();
  }
  bool Close() {
    members_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::size_t values_ = 0;
  std::size_t containers_ = 0;
  std::size_t member_pairs_ = 0;
  std::vector<std::size_t> members_;  // of the objects (and lists) that are open
  std::string why_;
};

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return InputError("", "",
                      "has " + std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(limits.bytes) + " are taken");
  }
  // The library takes a NUL for the end of the text and wouldn't look behind it.
  if (const auto nul = text.find('\0'); nul != text.npos) {
    return InputError("", "", "byte " + std::to_string(nul + 1) + " is no JSON: it is NUL");
  }
  LimitCheck check(limits);
  if (!Json::sax_parse(text, &check)) return InputError("", "", check.why());
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string_view JsonKind(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "a number";
    default:
      return "no JSON value";
  }
}

}  // namespace folio
