// What clients put into the front of a prompt and change from request to request, so that nothing
// behind it is found in the cache: taken out or put into one order, in every dialect's requests.
// docs/adr/0013 says why each of them is right. Each can be turned off, and is reported.
#ifndef FOLIO_API_PREFIX_HYGIENE_H_
#define FOLIO_API_PREFIX_HYGIENE_H_

#include <string>
#include <string_view>
#include <vector>

#include "api/api_request.h"
#include "base/error.h"

namespace folio {

struct PrefixHygiene {
  // The line "x-anthropic-billing-header: cc_version=...; cch=...;" that Claude Code begins its
  // system prompt with, for Anthropic's accounts and with another hash each time: left out.
  bool drop_client_headers = true;
  bool sort_tools = true;     // by name
  bool order_schemas = true;  // members of tools' schemas (schema_order.h)
  // A request that drops its conversation's tools, or forbids them, is shown them all the same
  // (server/session_tools.h): off unless asked for.
  bool keep_session_tools = false;
};

// "client-headers", "tool-order", "schema-order", "session-tools", between commas; "default" is
// those on by default, "none" none. An error names the word that is none of these.
Result<PrefixHygiene> ParseHygiene(std::string_view kinds);

// What was done, in short words ("tools sorted by name"); empty if there was nothing to do.
std::vector<std::string> TidyPrefix(ApiRequest& request, const PrefixHygiene& hygiene = {});

// Whether a system prompt's text begins with such a header line.
bool StartsWithClientHeader(std::string_view text);

}  // namespace folio

#endif  // FOLIO_API_PREFIX_HYGIENE_H_
