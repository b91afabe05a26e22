// Names of files that come from a server's listing or a URL: untrusted, and about to become paths.
#ifndef FOLIO_STORE_FILE_NAME_H_
#define FOLIO_STORE_FILE_NAME_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace folio {

// Checks that `name` is a relative path of plain components below the folder it will be put in: no
// "..", no leading slash, no backslash, no control character, nothing hidden, at most 8 components
// of at most 200 bytes. `where` names the source in the error.
Status CheckRelativeName(std::string_view name, const std::string& where);

// A file of a split model: "stem-00002-of-00005.gguf".
struct SplitName {
  std::string stem;
  int index = 0;  // from 1
  int count = 0;
};
std::optional<SplitName> ParseSplitName(std::string_view name);
std::string SplitFileName(const SplitName& split, int index);

}  // namespace folio

#endif  // FOLIO_STORE_FILE_NAME_H_
