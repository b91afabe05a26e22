// Text that a command takes: an option's value, a file, or standard input for "-", byte for byte.
#ifndef FOLIO_APPS_FOLIO_INPUT_H_
#define FOLIO_APPS_FOLIO_INPUT_H_

#include <string>

#include "base/error.h"

namespace folio {

// Everything from stdin; more than a gibibyte is an error.
Result<std::string> ReadStdin();
Result<std::string> ReadTextFile(const std::string& path);
// The value itself, or stdin where it is "-".
Result<std::string> TextOrStdin(const std::string& value);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_INPUT_H_
