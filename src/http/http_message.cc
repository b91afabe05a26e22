#include "http/http_message.h"

#include <algorithm>

namespace folio {

std::string_view HttpRequest::Field(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &HttpFields::value_type::first);
  return found == fields.end() ? std::string_view() : found->second;
}

bool HttpRequest::HasField(std::string_view name) const {
  return std::ranges::find(fields, name, &HttpFields::value_type::first) != fields.end();
}

}  // namespace folio
