// What goes to stdout: facts and text, never logs. Every write is checked.
#ifndef FOLIO_APPS_FOLIO_OUTPUT_H_
#define FOLIO_APPS_FOLIO_OUTPUT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace folio {

// Keeps the order of fields as they are written here.
using OutputJson = nlohmann::ordered_json;

Status WriteOutput(std::string_view text);
Status FlushOutput();
// True once a write failed because nobody reads (EPIPE).
bool OutputClosed();

// The one JSON document of a --json command. Bytes that are not UTF-8 become U+FFFD.
Status WriteJson(const OutputJson& document);

bool OutputIsTerminal();
// Whether what goes to stderr may have colours: on a terminal, unless NO_COLOR is set or TERM is
// "dumb".
bool ErrorsInColour();

// Untrusted text for a terminal: control characters other than newline and tab are left out, so
// that no file or model can move the cursor or set colours. Text for a pipe stays as it is.
std::string ForTerminal(std::string_view text);

// "1.21 GiB"
std::string HumanBytes(std::uint64_t bytes);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_OUTPUT_H_
