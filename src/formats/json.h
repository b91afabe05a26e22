// JSON from untrusted callers: bounded before anything is built from it.
#ifndef FOLIO_FORMATS_JSON_H_
#define FOLIO_FORMATS_JSON_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace folio {

// Keeps the order of members: a chat template prints tools as their author wrote them.
using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t depth = 64;
  // A value costs 16 to 64 bytes once it is built.
  std::size_t values = std::size_t{2} << 20;
  // Objects and lists, which cost 200 bytes and more with what is in them.
  std::size_t containers = std::size_t{2} << 20;
  // Pairs of members of the same object, over all objects: a new member is compared with each
  // before it. One object may have 14,000 members, or 1,600 objects 350 each.
  std::size_t member_pairs = 100'000'000;
};

// The document in `text`: UTF-8 only, and within `limits`, which are checked in a first pass that
// builds nothing. An error names the byte and what is wrong there.
Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// On one line. Bytes that are not UTF-8 become U+FFFD.
std::string DumpJson(const Json& value);

// "a string", "a list", "null": for messages.
std::string_view JsonKind(const Json& value);

}  // namespace folio

#endif  // FOLIO_FORMATS_JSON_H_
