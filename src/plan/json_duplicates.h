// Members of a JSON object that are there twice, which a parser would take one of.
#ifndef FOLIO_PLAN_JSON_DUPLICATES_H_
#define FOLIO_PLAN_JSON_DUPLICATES_H_

#include <optional>
#include <string>
#include <string_view>

namespace folio {

// The first member, "text_config.head_dim", that an object in `text` has twice with different
// values; nothing if there is none. `text` is JSON that ParseJson has taken.
std::optional<std::string> FindContradiction(std::string_view text);

}  // namespace folio

#endif  // FOLIO_PLAN_JSON_DUPLICATES_H_
