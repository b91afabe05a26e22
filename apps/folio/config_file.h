// A user's configuration file, changed as a whole and with a backup.
#ifndef FOLIO_APPS_FOLIO_CONFIG_FILE_H_
#define FOLIO_APPS_FOLIO_CONFIG_FILE_H_

#include <string>
#include <string_view>

#include "base/error.h"

namespace folio {

// Its text; empty if there is none.
Result<std::string> ReadConfigFile(const std::string& path);

// Puts `text` in place of `old`, which was read from `path`. It is there wholly or not at all, with
// the permissions of the file before it, or for its owner only; a link stays one. Returns the path
// of a copy of `old`, PATH.bak or PATH.bak2 and so on; empty if there was no file.
Result<std::string> ReplaceConfigFile(const std::string& path, std::string_view old,
                                      std::string_view text);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_CONFIG_FILE_H_
