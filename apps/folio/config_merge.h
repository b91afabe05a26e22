// Puts settings into the text of a configuration file and leaves all else as it is: comments and
// order too, except in JSON, which is written anew. What can't be done safely is an error that says
// why; the caller names the file. An empty text is a file that isn't there.
#ifndef FOLIO_APPS_FOLIO_CONFIG_MERGE_H_
#define FOLIO_APPS_FOLIO_CONFIG_MERGE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/json.h"

namespace folio {

// A key and its value as the format writes it.
using ConfigPair = std::pair<std::string, std::string>;

// Objects are merged field by field. An object in an array takes the place of the one with its
// "id", or goes to the end.
Result<std::string> MergeJsonConfig(std::string_view old, const Json& settings);

struct TomlSettings {
  std::vector<ConfigPair> root;  // keys in front of the first table
  std::string table;             // a table that is replaced as a whole
  std::vector<ConfigPair> table_pairs;
};
Result<std::string> MergeTomlConfig(std::string_view old, const TomlSettings& settings);

// Keys of the top level that have one value on their line.
Result<std::string> MergeYamlPairs(std::string_view old, const std::vector<ConfigPair>& pairs);

// An item of the list under a key of the top level, as the first one: `item` are its lines, without
// dash and indentation. It takes the place of the one that has the same first line.
Result<std::string> MergeYamlItem(std::string_view old, std::string_view key,
                                  const std::vector<std::string>& item);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_CONFIG_MERGE_H_
